/** The sides of the comparison on RabbitMQ. All use durable classic queues, persistent messages, and confirms. */
const batchSize = 100;
const value = (n) => ({ id: n, name: "a book", price: 12.5, tags: ["one", "two"] });
const stoaModule = process.env.STOA_DIST ?? new URL("../../dist", import.meta.url).pathname;

export default {
  async stoa(url, workload) {
    const { createAmqpBroker, openMessaging } = await import(`${stoaModule}/engines/messaging/index.js`);
    const broker = await createAmqpBroker({ url, queueType: "classic", prefetchCount: 200 });
    const client = await openMessaging(broker, { logger: quiet() });
    return side(workload, {
      async declare(topic) {
        const consumer = await client.subscribe(topic, { concurrency: 200, prefetch: 200 }, () => {});
        await consumer.close();
      },
      single: (topic, n) => client.publish(topic, value(n)),
      batch: (topic, list) =>
        client.publishBatch(
          topic,
          list.map((n) => ({ value: value(n) })),
        ),
      consume: (topic, handle) => client.subscribe(topic, { concurrency: 200, prefetch: 200 }, handle),
      end: (consumer) => consumer.close(),
    });
  },
  async bare(url, workload) {
    const { connect } = await import("amqplib");
    const connection = await connect(url, { noDelay: true });
    const channel = await connection.createConfirmChannel();
    const reading = await connection.createChannel();
    await reading.prefetch(200);
    const send = (topic, n) =>
      new Promise((resolve, reject) => {
        const content = Buffer.from(JSON.stringify(value(n)));
        channel.publish(topic, "", content, { persistent: true, mandatory: true }, (error) =>
          error ? reject(error) : resolve(),
        );
      });
    return side(workload, {
      async declare(topic) {
        await channel.assertExchange(topic, "fanout", { durable: true });
        await channel.assertQueue(topic, { durable: true, arguments: { "x-queue-type": "classic" } });
        await channel.bindQueue(topic, topic, "");
      },
      single: send,
      batch: (topic, list) => Promise.all(list.map((n) => send(topic, n))),
      async consume(topic, handle) {
        const { consumerTag } = await reading.consume(topic, async (message) => {
          await handle(JSON.parse(message.content.toString()));
          reading.ack(message);
        });
        return consumerTag;
      },
      end: (tag) => reading.cancel(tag),
    });
  },
  async nest(url, workload) {
    const { ClientProxyFactory, Transport, ServerRMQ } = await import("@nestjs/microservices");
    const { firstValueFrom } = await import("rxjs");
    const clients = new Map();
    const clientOf = (queue) => {
      let client = clients.get(queue);
      if (client === undefined) {
        const options = { urls: [url], queue, persistent: true, queueOptions: { durable: true } };
        client = ClientProxyFactory.create({ transport: Transport.RMQ, options });
        clients.set(queue, client);
      }
      return client;
    };
    const send = (topic, n) => firstValueFrom(clientOf(topic).emit("book", value(n)));
    return side(workload, {
      declare: (topic) => clientOf(topic).connect(),
      single: send,
      batch: (topic, list) => Promise.all(list.map((n) => send(topic, n))),
      async consume(queue, handle) {
        const server = new ServerRMQ({
          urls: [url],
          queue,
          noAck: false,
          prefetchCount: 200,
          queueOptions: { durable: true },
        });
        server.addHandler(
          "book",
          async (data, context) => {
            await handle(data);
            context.getChannelRef().ack(context.getMessage());
          },
          true,
        );
        await new Promise((resolve, reject) => server.listen((error) => (error ? reject(error) : resolve())));
        return server;
      },
      end: (server) => server.close(),
    });
  },
};

function side(workload, { declare, single, batch, consume, end }) {
  const publishBatches = async (topic, count) => {
    const numbers = Array.from({ length: count / batchSize }, (_, n) => n * batchSize);
    await inTurn(numbers, 5, (first) =>
      batch(
        topic,
        Array.from({ length: batchSize }, (_, n) => first + n),
      ),
    );
  };
  return {
    async prepare(topic, count) {
      await declare(topic);
      if (workload === "consume") await publishBatches(topic, count);
    },
    async run(topic, count) {
      if (workload === "batches") return publishBatches(topic, count);
      if (workload === "singles")
        return inTurn(
          Array.from({ length: count }, (_, n) => n),
          50,
          (n) => single(topic, n),
        );
      let seen = 0;
      let all;
      const done = new Promise((resolve) => {
        all = resolve;
      });
      const consumer = await consume(topic, async () => {
        if (++seen === count) all();
      });
      await done;
      await end(consumer);
    },
  };
}

async function inTurn(items, atOnce, work) {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++]);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function quiet() {
  const logger = { debug() {}, info() {}, warn() {}, error: console.error, child: () => logger };
  return logger;
}
