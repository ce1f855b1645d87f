import { createServer as createHttpServer, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { startFauxqs } from "fauxqs";
import { createAmqpBroker, createSqsBroker, type MessagingError } from "stoa/messaging";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { service } from "../../support/service.js";
import { credentials } from "./cloud-queue-suite.js";
import { connected, silent, uniqueTopic, until } from "./harness.js";

const rabbit = service("rabbitmq");

/** A server that does something odd with each connection. Resolves to its port. */
async function oddServer(serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    serve(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listening(server);
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const failureOf = (opening: Promise<unknown>) => opening.then(String, (error: MessagingError) => error);

it("RabbitMQ that sends its greeting byte by byte, forever, is an error that says so", async () => {
  const port = await oddServer((socket) => {
    const dripping = setInterval(() => socket.write("\u0001"), 50);
    socket.on("close", () => clearInterval(dripping));
  });
  const broker = await createAmqpBroker({ url: `amqp://127.0.0.1:${port}`, connectTimeout: 0.2 });
  const message = `the AMQP broker at 127.0.0.1:${port} is unreachable: no connection within 400 ms`;
  expect(await failureOf(broker.open())).toMatchObject({ code: "UNREACHABLE", message });
  await broker.close();
});

describe.skipIf(!rabbit)("RabbitMQ behind a proxy that sends bytes of its own", () => {
  it("The consumer says why it lost the broker, and comes back", async () => {
    const clientsOfProxy = new Set<Socket>();
    const port = await oddServer((socket) => {
      clientsOfProxy.add(socket);
      const onward = connect(Number(new URL(rabbit!).port), "127.0.0.1");
      onward.on("error", () => {});
      socket.on("close", () => onward.destroy());
      socket.pipe(onward).pipe(socket);
    });
    const logger = silent();
    const client = await connected({ connect: () => createAmqpBroker(`amqp://127.0.0.1:${port}`) }, { logger });
    onTestFinished(() => client.close());
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    const consumer = await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    // A frame of two gibibytes.
    for (const socket of clientsOfProxy) socket.write(Buffer.from([1, 0, 1, 0x7f, 0xff, 0xff, 0xff, 0]));
    await until(() => logger.lines.length > 0);
    const message = expect.stringContaining("is unreachable: Frame size 2147483647 exceeds maxFrameSize");
    expect(logger.lines[0]!.fields!.error).toMatchObject({ code: "UNREACHABLE", message });
    await until(() => consumer.connected);
    await client.publish(topic, 1);
    await until(() => seen.length === 1);
  });

  it("A message that comes after the confirmed end of its consumer is handled on the same connection", async () => {
    const deliver = 60;
    const cancelOk = 31;
    let isHolding = false;
    const held: Buffer[] = [];
    const port = await oddServer((socket) => {
      const onward = connect(Number(new URL(rabbit!).port), "127.0.0.1");
      onward.on("error", () => {});
      socket.on("close", () => onward.destroy());
      socket.pipe(onward);
      let rest = Buffer.alloc(0);
      let inDelivery = false;
      onward.on("data", (bytes) => {
        rest = Buffer.concat([rest, bytes]);
        while (rest.length >= 7 && rest.length >= rest.readUInt32BE(3) + 8) {
          const frame = rest.subarray(0, rest.readUInt32BE(3) + 8);
          rest = rest.subarray(frame.length);
          // A frame of a method has the number 1, those of its message 2 and 3. The methods of consumers are in class 60.
          const method = frame[0] === 1 && frame.readUInt16BE(7) === 60 ? frame.readUInt16BE(9) : 0;
          if (frame[0] === 1) inDelivery = method === deliver;
          if (isHolding && inDelivery && frame[0]! <= 3) held.push(frame);
          else socket.write(frame);
          if (isHolding && method === cancelOk) setTimeout(() => socket.write(Buffer.concat(held.splice(0))), 50);
        }
      });
    });
    const logger = silent();
    const client = await connected({ connect: () => createAmqpBroker(`amqp://127.0.0.1:${port}`) }, { logger });
    onTestFinished(() => client.close());
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    const consumer = await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    isHolding = true;
    await client.publish(topic, 1);
    await until(() => held.length >= 3);
    consumer.pause();
    await until(() => held.length === 0);
    isHolding = false;
    consumer.resume();
    await until(() => seen.length === 1);
    expect(logger.lines).toEqual([]);
  });
});

it.each([
  ["never responds", "", "exceeded the configured 5000 ms requestTimeout"],
  ["begins a response and does not end it", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{", "timed out"],
])("SQS that %s is an error that says so", { timeout: 60_000 }, async (_what, response, reason) => {
  const port = await oddServer((socket) => socket.on("data", () => socket.write(response)));
  const broker = await createSqsBroker({ endpoint: `http://127.0.0.1:${port}`, credentials, waitTime: 0 });
  const failure = await failureOf(broker.open());
  expect(failure).toMatchObject({ code: "UNREACHABLE", message: expect.stringContaining(reason) });
  await broker.close();
});

describe("SQS behind a proxy with responses of its own", () => {
  let queue: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    queue = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => queue.stop());

  /** A proxy to the queue. While `odd` is set, it responds to the calls of the name itself. */
  async function proxied() {
    const state: { odd: { call: string; respond(response: ServerResponse): void } | null } = { odd: null };
    const server = createHttpServer((incoming, response) => {
      if (state.odd !== null && String(incoming.headers["x-amz-target"]).endsWith(state.odd.call)) {
        incoming.resume();
        state.odd.respond(response);
        return;
      }
      const { method, headers } = incoming;
      const onward = request(`${queue.address}${incoming.url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
      incoming.pipe(onward);
    });
    onTestFinished(() => void server.close());
    const endpoint = `http://127.0.0.1:${await listening(server)}`;
    const logger = silent();
    const connect = () => createSqsBroker({ endpoint, credentials, waitTime: 0 });
    const client = await connected({ connect }, { logger });
    onTestFinished(() => client.close());
    const topic = uniqueTopic();
    const seen: unknown[] = [];
    const consumer = await client.subscribe(topic, {}, ({ value }) => void seen.push(value));
    return { state, client, consumer, topic, seen, logger };
  }

  it("A consumer that may not receive is not connected, tries again with growing pauses, and comes back", async () => {
    const { state, client, consumer, topic, seen, logger } = await proxied();
    let refused = 0;
    state.odd = {
      call: "ReceiveMessage",
      respond(response) {
        refused++;
        response.writeHead(403, { "content-type": "application/x-amz-json-1.0" });
        response.end('{"__type":"AccessDeniedException","message":"not allowed"}');
      },
    };
    await until(() => refused === 4);
    expect(consumer.connected).toBe(false);
    expect(logger.lines.filter(({ message }) => message.includes("connected again"))).toEqual([]);
    state.odd = null;
    await client.publish(topic, 1);
    await until(() => seen.length === 1);
    expect(consumer.connected).toBe(true);
  });

  it("A page in place of a response is an error that does not quote the page", async () => {
    const { state, consumer, logger } = await proxied();
    state.odd = { call: "ReceiveMessage", respond: (response) => response.end("<html>Log in as bob</html>") };
    await until(() => !consumer.connected);
    const { error } = logger.lines.find(({ message }) => message.includes("lost its broker"))!.fields!;
    expect(error).toMatchObject({ message: expect.stringContaining("the response is not one of SQS") });
    state.odd = null;
    await until(() => consumer.connected);
  });

  it("An empty response does not confirm a message: it is sent again", async () => {
    const { state, client, topic, seen } = await proxied();
    let swallowed = 0;
    state.odd = {
      call: "SendMessageBatch",
      respond(response) {
        swallowed++;
        response.writeHead(200, { "content-type": "application/x-amz-json-1.0" });
        response.end("{}");
      },
    };
    const publishing = client.publish(topic, 1);
    await until(() => swallowed === 2);
    state.odd = null;
    await publishing;
    await until(() => seen.length > 0);
    expect(seen).toEqual([1]);
  });
});
