import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { attributesOf, type Decoded, decode, plain, schemas } from "./decode.js";

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly kind: number;
  readonly attributes: Record<string, unknown>;
  readonly events: { readonly name: string; readonly attributes: Record<string, unknown> }[];
  readonly links: Decoded[];
  readonly status: { readonly code?: number; readonly message?: string } | undefined;
  readonly traceState: string | undefined;
  readonly flags: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly scope: string;
  readonly raw: Decoded;
}

export interface Export {
  readonly signal: keyof typeof schemas;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
  readonly message: Decoded;
}

/** A collector of OTLP over HTTP or gRPC that keeps what it gets. */
export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly exports: Export[];
  readonly spans: ReceivedSpan[];
  readonly metrics: Decoded[];
  readonly logs: (Decoded & { attributes: Record<string, unknown>; message: unknown })[];
  readonly resource: Record<string, unknown>;
  /** Decides on the response of the next exports; without one it is 200. */
  respond: ((index: number, response: http.ServerResponse) => void) | null;
  close(): Promise<void>;
}

class Received {
  readonly exports: Export[] = [];

  take(signal: keyof typeof schemas, headers: Readonly<Record<string, unknown>>, body: Buffer): void {
    this.exports.push({ signal, headers, body, message: decode(body, schemas[signal]) });
  }

  #items(signal: keyof typeof schemas): { item: Decoded; scope: string }[] {
    return this.exports
      .filter((each) => each.signal === signal)
      .flatMap(({ message }) => message.resources.flatMap((resource: Decoded) => resource.scopes))
      .flatMap(({ scope, items }: Decoded) => items.map((item: Decoded) => ({ item, scope: scope.name })));
  }

  get spans(): ReceivedSpan[] {
    return this.#items("traces").map(({ item, scope }) => ({
      ...item,
      attributes: attributesOf(item),
      events: (item.events ?? []).map((event: Decoded) => ({ name: event.name, attributes: attributesOf(event) })),
      links: item.links ?? [],
      parentSpanId: item.parentSpanId ?? null,
      scope,
      raw: item,
    }));
  }

  get metrics(): Decoded[] {
    return this.#items("metrics").map(({ item }) => item);
  }

  get logs(): Decoded[] {
    return this.#items("logs").map(({ item }) => ({
      ...item,
      attributes: attributesOf(item),
      message: plain(item.body),
    }));
  }

  get resource(): Record<string, unknown> {
    return attributesOf(this.exports[0]?.message.resources[0].resource);
  }
}

export async function startCollector(): Promise<Collector> {
  const received = new Received();
  let seen = 0;
  const server = http.createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      if (collector.respond !== null) {
        collector.respond(seen++, response);
        if (response.headersSent && response.statusCode >= 300) return;
      }
      const body = Buffer.concat(pieces);
      const plainBody = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
      received.take(request.url!.split("/").at(-1) as "traces", request.headers, plainBody);
      if (!response.headersSent && collector.respond === null) {
        response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const collector = collectorOf(received, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return collector;
}

export interface GrpcReply {
  readonly status: number;
  readonly trailers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export async function startGrpcCollector(
  reply: (index: number) => GrpcReply = () => ({ status: 0 }),
): Promise<Collector> {
  const received = new Received();
  const sessions = new Set<http2.ServerHttp2Session>();
  let seen = 0;
  const server = http2.createServer();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => {
    const pieces: Buffer[] = [];
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.on("error", () => {});
    stream.on("end", () => {
      const { status, trailers, body = Buffer.alloc(0) } = reply(seen++);
      const frame = Buffer.concat(pieces);
      if (frame[0] !== 0 || frame.readUInt32BE(1) !== frame.length - 5) throw new Error("not a frame of gRPC");
      const signal = /\.(trace|metrics|logs)\.v1\./.exec(String(headers[":path"]))![1]!;
      if (status === 0) received.take(signal === "trace" ? "traces" : (signal as "logs"), headers, frame.subarray(5));
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": String(status), ...trailers }));
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(body.length, 1);
      stream.end(Buffer.concat([prefix, body]));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return collectorOf(received, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
}

function collectorOf(received: Received, url: string, close: () => Promise<void>): Collector {
  return {
    url,
    respond: null,
    close,
    exports: received.exports,
    get spans() {
      return received.spans;
    },
    get metrics() {
      return received.metrics;
    },
    get logs() {
      return received.logs;
    },
    get resource() {
      return received.resource;
    },
    [Symbol.asyncDispose]: close,
  };
}
