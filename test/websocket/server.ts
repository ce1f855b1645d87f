import { connect, type Socket } from "node:net";
import { beforeAll, describe } from "vitest";
import { AppHost } from "../../src/app/host.js";
import { HttpError, httpError } from "../../src/errors/http-error.js";
import { problemResponse } from "../../src/errors/pages/problem.js";
import type { LogFields, Logger } from "../../src/kit/logger.js";
import { createNetTransport } from "../../src/server/http1/transport.js";
import { createHttp2Transport } from "../../src/server/http2/transport.js";
import { defaultLimits } from "../../src/server/limits.js";
import { loadAddon } from "../../src/server/native/addon.js";
import { createNativeTransport } from "../../src/server/native/transport.js";
import type { Dispatch, Transport, TransportOptions } from "../../src/server/transport.js";
import { type SocketHandler, websocketEndpoint } from "../../src/websocket/endpoint.js";
import type { SocketOptions } from "../../src/websocket/options.js";
import { WebSocketRegistry } from "../../src/websocket/registry.js";
import { bridgeTo } from "./bridge.js";

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

export interface SocketServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly transport: Transport;
  readonly registry: WebSocketRegistry;
  readonly log: LogLine[];
  /** What requests were told to do when they finished. */
  readonly finished: string[];
}

type SocketTransport = (typeof socketTransports)[number];

let current: SocketTransport = "net";

/**
 * On node:net, frames are read by `ws`; on the native transport and in HTTP/2 by Stoa. The native one is missing where it is
 * not built.
 */
export const socketTransports = [
  "net",
  "http2",
  ...(typeof loadAddon() === "string" ? [] : ["native" as const]),
] as const;

/** Runs the tests of a suite on each transport. */
export function onEachTransport(name: string, tests: () => void): void {
  describeOn(socketTransports, name, tests);
}

/** Only on those of HTTP/1.1, which has a handshake of its own and extensions. */
export function onHttp1Transports(name: string, tests: () => void): void {
  describeOn(
    socketTransports.filter((transport) => transport !== "http2"),
    name,
    tests,
  );
}

function describeOn(transports: readonly SocketTransport[], name: string, tests: () => void): void {
  describe.each(transports)(`${name} on the %s transport`, (transport) => {
    beforeAll(() => {
      current = transport;
    });
    tests();
  });
}

/** One WebSocket route behind the real transport, without an application around it. */
export async function socketServer(
  handler: SocketHandler,
  options: SocketOptions = {},
  on: SocketTransport = current,
  limits: Partial<TransportOptions> = {},
): Promise<SocketServer> {
  const registry = new WebSocketRegistry();
  const endpoint = websocketEndpoint(handler, options, registry);
  const log: LogLine[] = [];
  const finished: string[] = [];
  const host = new AppHost([]);
  host.logger = memoryLogger(log);
  host.bodyLimit = 1024;
  const dispatch: Dispatch = async (request) => {
    request.host = host;
    request.onFinish(() => void finished.push(request.path));
    try {
      const response = await endpoint(request, { greeting: "hello" });
      return response.header("X-Request-ID", "r1").cookie("seen", "yes");
    } catch (error) {
      return problemResponse(error instanceof HttpError ? error : httpError("INTERNAL_SERVER_ERROR"));
    }
  };
  const create = { native: createNativeTransport, net: createNetTransport, http2: createHttp2Transport }[on];
  const transport = create(dispatch, { ...defaultLimits, tls: null, ...limits });
  const address = await transport.listen({ host: "127.0.0.1", port: 0 });
  const bridge = on === "http2" ? await bridgeTo(address.port) : null;
  const { port } = bridge ?? address;
  return {
    port,
    url: `ws://127.0.0.1:${port}/chat`,
    transport,
    registry,
    log,
    finished,
    async [Symbol.asyncDispose]() {
      await registry.closeAll(1001, "", 0.05);
      bridge?.close();
      transport.destroy();
    },
  };
}

function memoryLogger(lines: LogLine[]): Logger {
  const at =
    (level: string) =>
    (message: string, fields?: LogFields): void =>
      void lines.push({ level, message, fields });
  const logger: Logger = {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: () => logger,
  };
  return logger;
}

export const handshakeLines: Readonly<Record<string, string>> = {
  Host: "127.0.0.1",
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

export interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** A client that does exactly what it is told, byte by byte. */
export class RawPeer implements Disposable {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #ended = false;
  #wake: () => void = () => {};

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.socket.on("data", (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
  }

  /** Sends a request's head and gives the status line and the fields of the answer, or the rest when it is none. */
  async request(head: string): Promise<{ status: number; head: string }> {
    this.socket.write(head, "latin1");
    const end = await this.#until(() => this.#received.indexOf("\r\n\r\n") + 1);
    const text = this.#take(end + 3).toString("latin1");
    return { status: Number(text.split(" ")[1]), head: text };
  }

  /** The handshake, with these fields in place of the sound ones; undefined leaves a field out. */
  handshake(fields: Record<string, string | undefined> = {}): Promise<{ status: number; head: string }> {
    return this.request(handshake(fields));
  }

  send(opcode: number, payload: Uint8Array | string = "", final = true): void {
    this.socket.write(frame(opcode, payload, final));
  }

  async frame(): Promise<Frame> {
    await this.#until(() => this.#received.length >= 2);
    const long = this.#received[1]! & 0x7f;
    const head = long === 126 ? 4 : long === 127 ? 10 : 2;
    await this.#until(() => this.#received.length >= head);
    const first = this.#received[0]!;
    const length =
      long === 126 ? this.#received.readUInt16BE(2) : long === 127 ? Number(this.#received.readBigUInt64BE(2)) : long;
    await this.#until(() => this.#received.length >= head + length);
    return { final: first >= 0x80, opcode: first & 15, payload: this.#take(head + length).subarray(head) };
  }

  /** The code in the closing frame, past any other frames. */
  async closeCode(): Promise<number> {
    for (;;) {
      const { opcode, payload } = await this.frame();
      if (opcode === 8) return payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
    }
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    await this.#until(() => this.#ended, true);
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #take(length: number): Buffer {
    const taken = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return taken;
  }

  async #until<T extends number | boolean>(done: () => T, endIsFine = false): Promise<T> {
    for (;;) {
      const result = done();
      if (result) return result;
      if (this.#ended && !endIsFine) throw new Error(`the connection ended with ${this.#received.length} bytes unread`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

export function handshake(fields: Record<string, string | undefined> = {}): string {
  const lines = Object.entries({ ...handshakeLines, ...fields }).filter(([, value]) => value !== undefined);
  return `GET /chat HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
}

/** A masked frame; `declared` says another length than the payload has. */
export function frame(opcode: number, payload: Uint8Array | string, final = true, declared?: bigint): Buffer {
  const data = Buffer.from(payload as Uint8Array);
  const length = declared ?? BigInt(data.length);
  const head = Buffer.alloc(14);
  head[0] = (final ? 0x80 : 0) | opcode;
  let size = 2;
  if (length < 126n) head[1] = 0x80 | Number(length);
  else if (length < 65_536n) {
    head[1] = 0x80 | 126;
    size = head.writeUInt16BE(Number(length), 2);
  } else {
    head[1] = 0x80 | 127;
    size = head.writeBigUInt64BE(length, 2);
  }
  const mask = [0x12, 0x34, 0x56, 0x78];
  head.set(mask, size);
  return Buffer.concat([head.subarray(0, size + 4), data.map((byte, index) => byte ^ mask[index % 4]!)]);
}

/** Waits until something is so; the bound is generous, and only there so that a failure shows. */
export async function eventually(condition: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`it did not come to be that ${String(condition)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
