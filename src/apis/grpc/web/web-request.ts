import { httpError } from "../../../errors/http-error.js";
import type { Request } from "../../../http/request.js";
import { type BoundMethod, clientStreams, serverStreams } from "../bound-method.js";
import { GrpcError } from "../grpc-error.js";
import { Exchange } from "../server/exchange.js";
import { type Incoming, PulledFrames, SingleFrame } from "../server/incoming.js";
import type { Frame } from "../wire/frames.js";
import { readGetWire, readWire, type Wire } from "../wire/wire.js";
import { decodeText } from "./web-body.js";

/** Reads the head of a call of gRPC-Web or Connect. Throws 405 and 415 for a request that is neither. */
export function openWeb(request: Request, method: BoundMethod): Exchange {
  const { source } = request;
  if (source.method === "GET") return openGet(request, method);
  if (source.method !== "POST") throw httpError("METHOD_NOT_ALLOWED", undefined, { headers: { Allow: "POST" } });
  const streaming = clientStreams(method) || serverStreams(method);
  const wire = readWire(source, streaming);
  // Calls of gRPC itself need HTTP/2 with trailers, and do not come here.
  if (wire.protocol === "grpc") throw httpError("UNSUPPORTED_MEDIA_TYPE");
  checkVersion(source.header("connect-protocol-version"), wire);
  return new Exchange(request, method, wire, incomingOf(request, method, wire));
}

function openGet(request: Request, method: BoundMethod): Exchange {
  if (!method.idempotent || method.kind !== "unary") {
    throw httpError("METHOD_NOT_ALLOWED", undefined, { headers: { Allow: "POST" } });
  }
  const { query, source } = request;
  const encoding = query.get("encoding");
  if (encoding !== "json" && encoding !== "proto") throw httpError("UNSUPPORTED_MEDIA_TYPE");
  const message = query.get("message");
  if (message === undefined) throw new GrpcError("INVALID_ARGUMENT", "the query has no message");
  const isBase64 = query.get("base64") === "1";
  const data = Buffer.from(message, isBase64 ? "base64url" : "utf8");
  const wire = readGetWire(source, encoding === "json", query.get("compression"));
  const frame: Frame = { flags: wire.encoding === null ? 0 : 1, data };
  return new Exchange(request, method, wire, new SingleFrame(async () => frame));
}

function checkVersion(version: string | undefined, { protocol }: Wire): void {
  if (protocol !== "connect" || version === undefined || version === "1") return;
  throw new GrpcError("INVALID_ARGUMENT", "the header connect-protocol-version must be 1");
}

function incomingOf(request: Request, { maxMessageSize }: BoundMethod, wire: Wire): Incoming {
  // The body as it was sent: its compression belongs to the protocol, not to the application.
  const body = request.source.body;
  if (!wire.enveloped) {
    const flags = wire.encoding === null ? 0 : 1;
    return new SingleFrame(async () => {
      return { flags, data: body === null ? new Uint8Array(0) : await body.read(maxMessageSize) };
    });
  }
  const pieces = body === null ? nothing() : body.stream(Number.MAX_SAFE_INTEGER);
  return new PulledFrames(wire.text ? decodeText(pieces) : pieces, maxMessageSize);
}

async function* nothing(): AsyncIterableIterator<Uint8Array> {}
