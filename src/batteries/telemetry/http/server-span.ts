import type { Host } from "../../../feature/host.js";
import type { Request } from "../../../http/request.js";
import type { RpcRoute } from "../../../kit/tracer.js";
import { writeAttribute } from "../otlp/attributes.js";
import { Writer } from "../otlp/writer.js";
import type { Baggage } from "../propagation/baggage.js";
import type { SpanStart } from "../trace/context.js";
import { RecordedSpan, type SpanSink, statusError, type TraceOf } from "../trace/recorded-span.js";
import { type ServerHead, ServerHeads } from "./server-head.js";

/**
 * The start of a request's span. Each route has one object for all of its requests: a request that is not sampled makes
 * none.
 */
export class ServerSpanStart implements SpanStart {
  readonly kind = "server";
  /** The span gets the name of its head. */
  readonly name = "";
  readonly recordQuery: boolean;
  /** The method of a service that the route serves; null for other routes. */
  readonly rpc: RpcRoute | null;
  readonly #heads: ServerHeads;
  readonly #host: Host;
  /** The request whose span is begun now. Null between two, so that the last one is not kept in memory with its body. */
  request: Request | null = null;

  constructor(pattern: string | null, host: Host, recordQuery: boolean, rpc: RpcRoute | null = null) {
    this.#heads = new ServerHeads(pattern, rpc);
    this.rpc = rpc;
    this.#host = host;
    this.recordQuery = recordQuery;
  }

  get startedAt(): number {
    return this.request!.startedAt;
  }

  /** The head of the span, and host and port as the client names them. */
  address(): { readonly head: ServerHead; readonly host: string } {
    const request = this.request!;
    const { method, source } = request;
    const origin = this.#host.originOf === null ? null : this.#host.originOf(request);
    if (origin === null) {
      return { head: this.#heads.of(method, schemeOf(request)), host: source.header("host") ?? "" };
    }
    const colon = origin.indexOf(":");
    return { head: this.#heads.of(method, origin.slice(0, colon)), host: origin.slice(colon + 3) };
  }
}

export function schemeOf({ source }: Request): "http" | "https" {
  return source.secure ? "https" : "http";
}

const attribute = 0x4a;

/**
 * The span of a request, by the stable conventions for HTTP. Its attributes are never kept: they are written from the
 * request when it ends.
 */
export class ServerSpan extends RecordedSpan {
  readonly #request: Request;
  readonly #head: ServerHead;
  readonly #host: string;
  readonly #recordQuery: boolean;
  readonly #rpc: RpcRoute | null;
  #statusCode = 0;

  constructor(
    sink: SpanSink,
    start: ServerSpanStart,
    trace: TraceOf,
    parentId: string | null,
    remote: boolean,
    baggage: Baggage | null,
  ) {
    super(sink, start, trace, parentId, remote, baggage);
    const { head, host } = start.address();
    this.#request = start.request!;
    this.#head = head;
    this.#host = host;
    this.#recordQuery = start.recordQuery;
    this.#rpc = start.rpc;
    this.name = head.name;
  }

  override get head(): Uint8Array | null {
    const head = this.#head;
    // A handler may have changed the name; then the rest of the head is written after the new name, which wins.
    return this.name === head.name ? head.bytes : renamed(head.bytes, this.name);
  }

  /** The server responds with this status. */
  finish(status: number, moment: number): void {
    this.#statusCode = status;
    const { error } = this.#request;
    if (this.#rpc !== null) this.set("rpc.grpc.status_code", this.#rpc.statusOf(error ?? null, status));
    if (status >= 500) {
      if (error !== undefined) this.fail(error, moment);
      else this.set("error.type", String(status));
      // Without a description: the conventions ask for none where status and exception say it.
      this.setStatus(statusError);
    }
    this.endAt(moment);
  }

  override writeOwn(writer: Writer): void {
    const request = this.#request;
    const host = this.#host;
    const { source } = request;
    const { limit } = this;
    writeAttribute(writer, attribute, "url.path", source.path, limit);
    if (this.#statusCode !== 0) writeAttribute(writer, attribute, "http.response.status_code", this.#statusCode, limit);
    if (host !== "") writer.raw(serverAddress(host, limit));
    const { ip } = request;
    if (ip !== "") {
      writer.raw(clientAddress(ip, limit));
      if (ip !== source.remoteAddress && !source.remoteAddress.endsWith(`:${ip}`)) {
        writeAttribute(writer, attribute, "network.peer.address", source.remoteAddress, limit);
      }
    }
    const { httpVersion } = source;
    if (httpVersion !== undefined) writer.raw(protocolVersion(httpVersion, limit));
    const agent = source.header("user-agent");
    if (agent !== undefined) writer.raw(userAgent(agent, limit));
    if (this.#recordQuery && source.search.length > 1) {
      writeAttribute(writer, attribute, "url.query", source.search.slice(1), limit);
    }
    if (!this.#head.known) writeAttribute(writer, attribute, "http.request.method_original", request.method, limit);
  }
}

/** Field 5 once more: the last one counts. */
function renamed(head: Uint8Array, name: string): Uint8Array {
  const writer = new Writer(head.length + name.length * 3 + 8);
  writer.raw(head);
  writer.tag(0x2a).string(name);
  return writer.written;
}

/** Keeps the bytes of the last value: neighbouring requests often have the same host, client and program. */
function remembered(write: (writer: Writer, value: string, limit: number) => void) {
  let last = "";
  let bytes: Uint8Array = new Uint8Array(0);
  return (value: string, limit: number): Uint8Array => {
    if (value === last) return bytes;
    const writer = new Writer(256);
    write(writer, value, limit);
    bytes = Uint8Array.from(writer.written);
    last = value;
    return bytes;
  };
}

const userAgent = remembered((writer, value, limit) =>
  writeAttribute(writer, attribute, "user_agent.original", value, limit),
);

const protocolVersion = remembered((writer, value, limit) =>
  writeAttribute(writer, attribute, "network.protocol.version", value, limit),
);

const clientAddress = remembered((writer, value, limit) =>
  writeAttribute(writer, attribute, "client.address", value, limit),
);

const serverAddress = remembered((writer, value, limit) => {
  const colon = value.endsWith("]") ? -1 : value.lastIndexOf(":");
  const port = colon < 0 ? Number.NaN : Number(value.slice(colon + 1));
  const address = Number.isInteger(port) ? value.slice(0, colon) : value;
  writeAttribute(writer, attribute, "server.address", address.replace(/^\[|\]$/g, ""), limit);
  if (Number.isInteger(port)) writeAttribute(writer, attribute, "server.port", port, limit);
});
