/**
 * The sides of the comparison on RabbitMQ. All use durable classic queues, persistent messages and confirms. `bare` sends the id,
 * the type and the time that a message of Stoa has; the broker takes longer for a message with them.
 */
import { randomUUID } from "node:crypto";
import { stoaEntry } from "../lib/stoa-build.mjs";
import { quiet, side, value } from "./side.mjs";

export default {
  async stoa(url, workload) {
    const { createAmqpBroker, openMessaging } = await stoaEntry("messaging");
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
      consume: (topic, handle) =>
        client.subscribe(topic, { concurrency: 200, prefetch: 200 }, (message) => handle(message.value)),
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
        const now = Date.now();
        const options = {
          persistent: true,
          mandatory: true,
          messageId: randomUUID(),
          contentType: "application/json",
          timestamp: Math.floor(now / 1000),
          headers: { time: String(now) },
        };
        channel.publish(topic, "", content, options, (error) => (error ? reject(error) : resolve()));
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
