/**
 * The sides of the comparison on Kafka. All wait until the broker has each message (acks -1), without compression. `bare` sends
 * the id, the type and the time that a message of Stoa has. All consumers decode the value. `bare` does less for it: it commits
 * what it has read every 100 ms and waits for no handler, so that a message whose handler fails or is cut off is lost.
 */
import { randomUUID } from "node:crypto";
import { quiet, side, value } from "./side.mjs";

const stoaModule = process.env.STOA_DIST ?? new URL("../../dist", import.meta.url).pathname;
const group = (topic) => `group-${topic}`;

export default {
  async stoa(address, workload) {
    const { createKafkaBroker, openMessaging } = await import(`${stoaModule}/engines/messaging/index.js`);
    const broker = await createKafkaBroker({ brokers: [address], prefetch: 1000 });
    const client = await openMessaging(broker, { logger: quiet() });
    const options = (topic) => ({ group: group(topic), concurrency: 200 });
    return side(workload, {
      declare: async (topic) => (await client.subscribe(topic, { group: `other-${topic}` }, () => {})).close(),
      single: (topic, n) => client.publish(topic, value(n), { key: String(n) }),
      batch: (topic, list) =>
        client.publishBatch(
          topic,
          list.map((n) => ({ value: value(n), key: String(n) })),
        ),
      consume: (topic, handle) => client.subscribe(topic, options(topic), (message) => handle(message.value)),
      end: (consumer) => consumer.close(),
    });
  },
  async bare(address, workload) {
    const { Admin, Consumer, Producer, stringSerializers, stringDeserializers } = await import("@platformatic/kafka");
    const base = { clientId: "bench", bootstrapBrokers: [address] };
    const admin = new Admin(base);
    const producer = new Producer({ ...base, serializers: stringSerializers, idempotent: true });
    const message = (topic, n) => ({
      topic,
      key: String(n),
      value: JSON.stringify(value(n)),
      headers: { id: randomUUID(), "content-type": "application/json" },
      timestamp: BigInt(Date.now()),
    });
    // Two sends at once would have the same sequence numbers: one after the other.
    let turn = Promise.resolve();
    const send = (messages) => {
      turn = turn.then(() => producer.send({ messages, acks: -1 }));
      return turn;
    };
    return side(workload, {
      declare: (topic) => admin.createTopics({ topics: [topic], partitions: 3, replicas: 1 }),
      single: (topic, n) => send([message(topic, n)]),
      batch: (topic, list) => send(list.map((n) => message(topic, n))),
      async consume(topic, handle) {
        const consumer = new Consumer({
          ...base,
          groupId: group(topic),
          deserializers: stringDeserializers,
          maxWaitTime: 500,
        });
        const stream = await consumer.consume({
          topics: [topic],
          mode: "committed",
          fallbackMode: "earliest",
          autocommit: 100,
        });
        stream.on("data", ({ value: text }) => void handle(JSON.parse(text)));
        return consumer;
      },
      end: (consumer) => consumer.close(true),
    });
  },
  async nest(address, workload) {
    const { ClientKafka, KafkaContext, ServerKafka } = await import("@nestjs/microservices");
    const { firstValueFrom } = await import("rxjs");
    const { Kafka, logLevel } = await import("kafkajs");
    const connection = { clientId: "bench", brokers: [address], logLevel: logLevel.NOTHING };
    const admin = new Kafka(connection).admin();
    await admin.connect();
    const client = new ClientKafka({ client: connection, producerOnlyMode: true, producer: { idempotent: true } });
    await client.connect();
    const send = (topic, n) => firstValueFrom(client.emit(topic, { key: String(n), value: value(n) }));
    void KafkaContext;
    return side(workload, {
      declare: (topic) => admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: true }),
      single: send,
      batch: (topic, list) => Promise.all(list.map((n) => send(topic, n))),
      async consume(topic, handle) {
        const server = new ServerKafka({
          client: connection,
          consumer: { groupId: group(topic) },
          subscribe: { fromBeginning: true },
        });
        server.addHandler(topic, (data) => handle(data), true);
        await new Promise((resolve, reject) => server.listen((error) => (error ? reject(error) : resolve())));
        return server;
      },
      end: (server) => server.close(),
    });
  },
};
