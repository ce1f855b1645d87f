import { EventEmitter } from "node:events";
import { connect as connectSocket, createServer, type Server, type Socket } from "node:net";
import * as amqplib from "amqplib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Amqplib } from "../../../src/engines/messaging/amqp/amqplib.js";
import { AmqpConfig } from "../../../src/engines/messaging/amqp/config.js";
import { AmqpLink } from "../../../src/engines/messaging/amqp/link.js";
import { service } from "../../support/service.js";

const url = service("rabbitmq");

/** The class and the number of a method, as they stand in its frame. */
const methods = {
  connectionOpenOk: Buffer.from([0, 10, 0, 41]),
  connectionClose: Buffer.from([0, 10, 0, 50]),
  channelClose: Buffer.from([0, 20, 0, 40]),
};

/** The broker asks to close the connection, as one does that is being stopped. */
const brokerCloses = (() => {
  const reason = Buffer.from("shutdown");
  const code = Buffer.from([320 >> 8, 320 & 255]);
  const payload = Buffer.concat([methods.connectionClose, code, Buffer.from([reason.length]), reason, Buffer.alloc(4)]);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(payload.length);
  return Buffer.concat([Buffer.from([1, 0, 0]), size, payload, Buffer.from([0xce])]);
})();

interface Sides {
  /** Returns what the client gets in place of a piece. */
  toClient?(piece: Buffer): Buffer;
  /** Returns false to break the connection in place of passing a piece on. */
  toBroker?(piece: Buffer): boolean;
}

describe.skipIf(!url)("the connection to RabbitMQ", () => {
  /** A link through a server that changes what passes. */
  async function linkThrough(sides: Sides): Promise<AmqpLink> {
    const sockets = new Set<Socket>();
    const server: Server = createServer((client) => {
      const broker = connectSocket(Number(new URL(url!).port), "127.0.0.1");
      const end = () => {
        client.destroy();
        broker.destroy();
      };
      for (const socket of [client, broker]) sockets.add(socket.on("error", end).on("close", end));
      client.on("data", (piece: Buffer) => (sides.toBroker?.(piece) === false ? end() : broker.write(piece)));
      broker.on("data", (piece: Buffer) => client.write(sides.toClient?.(piece) ?? piece));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const link = new AmqpLink(amqplib as unknown as Amqplib, new AmqpConfig(`amqp://guest:guest@127.0.0.1:${port}`));
    onTestFinished(async () => {
      await link.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    return link;
  }

  it("A connection that is lost while a channel closes holds up nobody", async () => {
    const link = await linkThrough({ toBroker: (piece) => !piece.includes(methods.channelClose) });
    expect(await link.onChannel(async () => "used")).toBe("used");
    expect(await link.onChannel(async () => "used again")).toBe("used again");
  });

  it("A connection that is lost while it closes holds up nobody", async () => {
    const link = await linkThrough({ toBroker: (piece) => !piece.includes(methods.connectionClose) });
    await link.publishing();
    await link.close();
    await expect(link.publishing()).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("A connection that the broker closes as soon as it is open is replaced by the next call", async () => {
    let opened = 0;
    const link = await linkThrough({
      toClient: (piece) =>
        piece.includes(methods.connectionOpenOk) && ++opened === 1 ? Buffer.concat([piece, brokerCloses]) : piece,
    });
    await expect(link.onChannel(async () => {})).rejects.toMatchObject({ code: "UNREACHABLE" });
    expect(await link.onChannel(async () => "used")).toBe("used");
    expect(opened).toBe(2);
  });
});

/** Connections of which the first begins to close, as the library does after a frame that it does not understand. */
class ClosingLibrary {
  readonly made: EventEmitter[] = [];
  readonly ended = new Set<EventEmitter>();
  closing: EventEmitter | null = null;

  async connect(): Promise<object> {
    const model = new EventEmitter();
    this.made.push(model);
    return Object.assign(model, {
      createChannel: async () => {
        if (model === this.closing)
          throw Object.assign(new Error("Connection closing"), { name: "IllegalOperationError" });
        return Object.assign(new EventEmitter(), { close: async () => {} });
      },
      close: async () => void this.ended.add(model),
    });
  }
}

describe("a connection that closes while another one is opened", () => {
  it("The end of a connection that was given up does not take the next one along", async () => {
    const library = new ClosingLibrary();
    const link = new AmqpLink(library as unknown as Amqplib, new AmqpConfig("amqp://127.0.0.1"));
    await link.channel(() => {});
    library.closing = library.made[0]!;
    await expect(link.channel(() => {})).rejects.toMatchObject({ code: "UNREACHABLE" });
    const next = link.channel(() => {});
    library.made[0]!.emit("close");
    await next;
    await link.channel(() => {});
    await link.close();
    expect(library.made).toHaveLength(2);
    expect([...library.ended]).toEqual([library.made[1]]);
  });
});
