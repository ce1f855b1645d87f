import http2 from "node:http2";
import { percentDecoded } from "../../../kit/encoding.js";
import { readPartialSuccess, readRetryDelay } from "../otlp/reader.js";
import { endOf, type Outcome, readReply, reasonOf, type Transport, type TransportOptions } from "./transport.js";

/** The codes after which a batch is sent once more (OTLP specification, "OTLP/gRPC Response"). */
const retryable = new Set([1, 4, 10, 11, 14, 15]);
const resourceExhausted = 8;

/** OTLP over gRPC: one unary call for each batch, on node:http2 alone. */
export class GrpcTransport implements Transport {
  readonly #options: TransportOptions;
  readonly #path: string;
  #session: http2.ClientHttp2Session | null = null;

  constructor(options: TransportOptions, service: string) {
    this.#options = options;
    this.#path = `/${service}/Export`;
  }

  async send(body: readonly Uint8Array[], signal: AbortSignal): Promise<Outcome> {
    const { headers, timeout } = this.#options;
    const limit = AbortSignal.timeout(timeout);
    const fields: http2.IncomingHttpHeaders = {};
    try {
      const stream = this.#connect().request(
        {
          ...headers,
          ":method": "POST",
          ":path": this.#path,
          "content-type": "application/grpc",
          "grpc-timeout": `${timeout}m`,
          te: "trailers",
        },
        { signal: AbortSignal.any([signal, limit]) },
      );
      stream.on("response", (head) => Object.assign(fields, head));
      stream.on("trailers", (trailers) => Object.assign(fields, trailers));
      stream.end(framed(body));
      stream.on("error", () => {});
      const closed = new Promise((resolve) => stream.once("close", resolve));
      const reply = await readReply(stream);
      if (reply.failure !== null) throw reply.failure;
      // The trailers come with the end or just after it.
      await closed;
      if (fields[":status"] === undefined) throw new Error("the connection was closed");
      return outcomeOf(fields, reply.body);
    } catch (error) {
      // A session that does not reply may be dead; the next call opens another.
      if (fields[":status"] === undefined) this.close();
      return { kind: "later", reason: endOf(signal, limit, timeout) ?? reasonOf(error), after: null };
    }
  }

  close(): void {
    this.#session?.destroy();
    this.#session = null;
  }

  #connect(): http2.ClientHttp2Session {
    const open = this.#session;
    if (open !== null && !open.closed && !open.destroyed) return open;
    const { url, tls } = this.#options;
    const session = http2.connect(url.origin, { ...tls, settings: { enablePush: false } });
    // The error reaches the call that waits; a session without calls need not report it.
    session.on("error", () => {});
    session.on("goaway", () => session.close());
    session.unref();
    this.#session = session;
    return session;
  }
}

/** The message behind its prefix: not compressed, four bytes of length. */
function framed(pieces: readonly Uint8Array[]): Buffer {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, ...pieces], length + 5);
}

function outcomeOf(fields: http2.IncomingHttpHeaders, body: Buffer): Outcome {
  const status = Number(fields["grpc-status"] ?? Number.NaN);
  if (status === 0) return { kind: "sent", ...readPartialSuccess(body.subarray(5)) };
  if (Number.isNaN(status)) return withoutStatus(Number(fields[":status"]));
  const reason = `gRPC status ${status}${messageOf(fields["grpc-message"])}`;
  const details = fields["grpc-status-details-bin"];
  const after = typeof details === "string" ? readRetryDelay(Buffer.from(details, "base64")) : null;
  if (retryable.has(status) || (status === resourceExhausted && after !== null))
    return { kind: "later", reason, after };
  return { kind: "refused", reason };
}

/** A server in between responds with a status of HTTP alone. */
function withoutStatus(status: number): Outcome {
  const reason = `status ${status} without a gRPC status`;
  if (status === 429 || status >= 502) return { kind: "later", reason, after: null };
  return { kind: "refused", reason };
}

function messageOf(value: string | string[] | undefined): string {
  if (typeof value !== "string" || value === "") return "";
  const short = value.slice(0, 500);
  return `: ${percentDecoded(short) ?? short}`;
}
