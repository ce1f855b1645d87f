import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The other side of scripts/judges/kafka.mjs, with the Java client: the arguments and lines of librdkafka.py; and a producer of
 * the chaos rig, which publishes until it is ended.
 */
public class JavaClient {
  public static void main(String[] args) throws Exception {
    String brokers = args[0];
    String topic = args[2];
    if (args[1].equals("produce")) produce(brokers, topic, args[3], Integer.parseInt(args[4]));
    else if (args[1].equals("member")) handle(brokers, topic, args[3]);
    else if (args[1].equals("endless")) produceEndlessly(brokers, topic, args[3], Path.of(args[4]));
    else consume(brokers, topic, Integer.parseInt(args[3]));
  }

  static void produce(String brokers, String topic, String codec, int count) throws Exception {
    Map<String, Object> settings = Map.of("bootstrap.servers", brokers, "compression.type", codec, "linger.ms", 50);
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      for (int n = 0; n < count; n++) {
        String key = "key-" + n % 20;
        String value = "{\"n\": " + n + ", \"text\": \"" + "abc".repeat(50) + "\"}";
        var record = new ProducerRecord<>(topic, key, value);
        record.headers().add("tenant", "zürich".getBytes(StandardCharsets.UTF_8));
        record.headers().add("n", String.valueOf(n).getBytes(StandardCharsets.UTF_8));
        producer.send(record, (metadata, error) -> {
          if (error != null) throw new RuntimeException(error);
          print(key, metadata.partition(), value, "");
        });
      }
    }
  }

  /** Bursts for each of three keys, with a line in the ledger for each message that is confirmed. */
  static void produceEndlessly(String brokers, String topic, String codec, Path folder) throws Exception {
    long pid = ProcessHandle.current().pid();
    Path ledger = folder.resolve("java-" + pid);
    Map<String, Object> settings = Map.of("bootstrap.servers", brokers, "compression.type", codec, "linger.ms", 5);
    var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    Runtime.getRuntime().addShutdownHook(new Thread(() -> producer.close(Duration.ofSeconds(20))));
    for (int n = 0; ; n++) {
      String key = "java-" + pid + "-" + n / 20 % 3;
      int number = n;
      String id = key + "-" + n;
      var record = new ProducerRecord<>(topic, key, "{\"key\": \"" + key + "\", \"number\": " + n + "}");
      record.headers().add("stoa-id", id.getBytes(StandardCharsets.UTF_8));
      try {
        var sent = producer.send(record, (metadata, error) -> note(ledger, error == null ? "sent" : "unsure", key, number, id));
        if (n % 20 < 19) continue;
        sent.get();
      } catch (java.util.concurrent.ExecutionException | RuntimeException error) {
        // It is in the ledger as unsure, or the producer is being closed.
      }
      Thread.sleep(20);
    }
  }

  /** The line of `ledgerFile` in scripts/chaos/ledger.mjs. */
  static synchronized void note(Path ledger, String kind, String key, int number, String id) {
    String line = "{\"kind\": \"" + kind + "\", \"time\": \"" + System.nanoTime() + "\", \"key\": \"" + key + "\", \"number\": " + number
        + ", \"id\": \"" + id + "\"}\n";
    try {
      Files.writeString(ledger, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }

  /** A member of a group, until it is ended. It commits what it has printed. */
  static void handle(String brokers, String topic, String group) throws Exception {
    Map<String, Object> settings = Map.of(
        "bootstrap.servers", brokers, "group.id", group, "auto.offset.reset", "earliest", "enable.auto.commit", false,
        "session.timeout.ms", 6000, "heartbeat.interval.ms", 300, "max.poll.records", 20,
        "partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
    var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    var main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      consumer.wakeup();
      try {
        main.join();
      } catch (InterruptedException error) {
        // The process ends.
      }
    }));
    try (consumer) {
      consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
          consumer.commitSync();
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {}
      });
      for (;;) {
        for (var record : consumer.poll(Duration.ofSeconds(1))) print(record.key(), record.partition(), record.value(), "");
        try {
          consumer.commitSync();
        } catch (org.apache.kafka.common.errors.RebalanceInProgressException error) {
          // The next commit is for these messages too.
        }
      }
    } catch (org.apache.kafka.common.errors.WakeupException error) {
      // It leaves the group.
    }
  }

  static void consume(String brokers, String topic, int count) {
    Map<String, Object> settings = Map.of(
        "bootstrap.servers", brokers, "group.id", UUID.randomUUID().toString(),
        "auto.offset.reset", "earliest", "isolation.level", "read_committed");
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of(topic));
      for (int seen = 0; seen < count; ) {
        var records = consumer.poll(Duration.ofSeconds(30));
        if (records.isEmpty()) throw new RuntimeException("only " + seen + " of " + count + " messages");
        for (var record : records) {
          seen++;
          StringBuilder headers = new StringBuilder();
          record.headers().forEach((header) -> headers.append(headers.isEmpty() ? "" : ", ").append(quoted(header.key()))
              .append(": ").append(quoted(new String(header.value(), StandardCharsets.UTF_8))));
          print(record.key(), record.partition(), record.value(), ", \"headers\": {" + headers + "}");
        }
      }
    }
  }

  static synchronized void print(String key, int partition, String value, String more) {
    String shown = key == null ? "null" : quoted(key);
    String line = "{\"key\": " + shown + ", \"partition\": " + partition + ", \"value\": " + quoted(value) + more + "}\n";
    System.out.writeBytes(line.getBytes(StandardCharsets.UTF_8));
  }

  static String quoted(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }
}
