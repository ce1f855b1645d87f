import { httpError } from "../../../errors/http-error.js";
import type { Request } from "../../../http/request.js";
import { type BoundMethod, clientStreams, serverStreams } from "../bound-method.js";
import { GrpcError } from "../grpc-error.js";
import { Exchange } from "../server/exchange.js";
import { type Incoming, PulledFrames, SingleFrame } from "../server/incoming.js";
import { connectWire, type Format, getFormat, readWire, type Wire, webFormat } from "../wire/wire.js";
import { decodeText } from "./web-body.js";

/** A call of gRPC-Web or Connect. */
export interface WebCall {
  readonly exchange: Exchange;
  /** The error of its head; null if it can be served. */
  readonly error: unknown;
}

/** Reads the head of a call of gRPC-Web or Connect. Throws 405 and 415 for a request that is neither. */
export function openWeb(request: Request, method: BoundMethod): WebCall {
  const { source, query } = request;
  const isUnary = method.kind === "unary";
  if (source.method !== "POST" && !(source.method === "GET" && method.idempotent && isUnary)) {
    throw httpError("METHOD_NOT_ALLOWED", undefined, { headers: { Allow: "POST" } });
  }
  if (source.method === "POST") {
    const format = webFormat(source, clientStreams(method) || serverStreams(method));
    return opened(request, method, format, () => {
      const wire = readWire(source, format);
      return [wire, incomingOf(request, method, wire)];
    });
  }
  const format = getFormat(query.get("encoding"));
  return opened(request, method, format, () => {
    const message = query.get("message");
    if (message === undefined) throw new GrpcError("INVALID_ARGUMENT", "the query has no message");
    const wire = connectWire(source, format, query.get("compression") ?? "");
    const data = Buffer.from(message, query.get("base64") === "1" ? "base64url" : "utf8");
    return [wire, new SingleFrame(async () => ({ flags: flagsOf(wire), data }))];
  });
}

/** From its format on, a call fails in its own protocol. */
function opened(request: Request, method: BoundMethod, format: Format, read: () => [Wire, Incoming]): WebCall {
  try {
    return { exchange: new Exchange(request, method, ...read()), error: null };
  } catch (error) {
    const wire: Wire = { ...format, encoding: null, accepts: null, timeout: null };
    return { exchange: new Exchange(request, method, wire, incomingOf(request, method, wire)), error };
  }
}

function incomingOf(request: Request, { maxMessageSize }: BoundMethod, wire: Wire): Incoming {
  // The body as it was sent: its compression belongs to the protocol, not to the application.
  const body = request.source.body;
  if (!wire.enveloped) {
    return new SingleFrame(async () => {
      return { flags: flagsOf(wire), data: body === null ? new Uint8Array(0) : await body.read(maxMessageSize) };
    });
  }
  const pieces = body === null ? nothing() : body.stream(Number.MAX_SAFE_INTEGER);
  return new PulledFrames(wire.text ? decodeText(pieces) : pieces, maxMessageSize);
}

/** The flags of a message that comes without a prefix. */
function flagsOf(wire: Wire): number {
  return wire.encoding === null ? 0 : 1;
}

async function* nothing(): AsyncIterableIterator<Uint8Array> {}
