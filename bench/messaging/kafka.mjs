/**
 * The sides of the comparison on Kafka. All wait until the broker has each message (acks -1), without compression. `bare` sends
 * the id, the type and the time that a message of Stoa has. All consumers decode the value. `bare` does less for it: it commits
 * what it has read every 100 ms and waits for no handler, so that a message whose handler fails or is cut off is lost. `waiting`
 * is the same client with the least that loses nothing: it waits for each handler before the next one, and commits what is
 * done, at most every 5 ms as Stoa does. Stoa handles messages at the same time too, keeps the order of each key and limits the time of handlers.
 */
import { randomUUID } from "node:crypto";
import { stoaEntry } from "../lib/stoa-build.mjs";
import { quiet, side, value } from "./side.mjs";

const group = (topic) => `group-${topic}`;

export default {
  async stoa(address, workload) {
    const { createKafkaBroker, openMessaging } = await stoaEntry("messaging");
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
  bare: (address, workload) =>
    bare(address, workload, { autocommit: 100 }, (stream, _commit, handle) => {
      stream.on("data", ({ value: text }) => void handle(JSON.parse(text)));
      return () => {};
    }),
  waiting: (address, workload) => bare(address, workload, { autocommit: false }, awaitEach),
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

/** The client of Stoa, without Stoa. `read` hands the messages of a stream to the handler and returns what ends it. */
async function bare(address, workload, options, read) {
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
      const groupId = group(topic);
      const consumer = new Consumer({ ...base, groupId, deserializers: stringDeserializers, maxWaitTime: 500 });
      const from = { topics: [topic], mode: "committed", fallbackMode: "earliest" };
      const stream = await consumer.consume({ ...from, ...options });
      const end = read(stream, (offsets) => consumer.commit({ offsets }), handle);
      return async () => {
        await end();
        await consumer.close(true);
      };
    },
    end: (close) => close(),
  });
}

/** Handles one message after the other, and commits what is done. */
function awaitEach(stream, commit, handle) {
  const done = new Map();
  let committing = null;
  const commitAll = async () => {
    while (done.size > 0) {
      const offsets = [...done.values()];
      done.clear();
      await commit(offsets);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    committing = null;
  };
  const reading = (async () => {
    for await (const { topic, partition, offset, value: text } of stream) {
      await handle(JSON.parse(text));
      done.set(partition, { topic, partition, offset: offset + 1n, leaderEpoch: -1 });
      committing ??= commitAll();
    }
  })();
  reading.catch(() => {});
  return () => committing;
}
