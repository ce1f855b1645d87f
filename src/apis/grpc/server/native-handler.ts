import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Request } from "../../../http/request.js";
import type { Response } from "../../../http/response.js";
import { clientLeft } from "../../../server/client-left.js";
import type { Http2StreamHandler, Http2StreamPeer } from "../../../server/http2/streams.js";
import { insideCall } from "../current-call.js";
import { GrpcError } from "../grpc-error.js";
import { acceptedEncodings } from "../wire/compression.js";
import { type Format, formatOf, readWire, type Wire } from "../wire/wire.js";
import { CallSource, Exchange } from "./exchange.js";
import { PushedFrames } from "./incoming.js";
import type { ServedMethods } from "./methods.js";
import { NativeCall } from "./native-call.js";
import { outcomeOfError } from "./outcome.js";
import { type SessionSettings, Sessions } from "./sessions.js";

export interface NativeHandlerParts extends SessionSettings {
  /** Bytes of metadata of one call. */
  readonly maxMetadataSize: number;
  readonly methods: ServedMethods;
  /** Hides the messages of unexpected errors. */
  readonly mask: boolean;
}

/** Takes the streams of HTTP/2 that are calls of gRPC. Those of gRPC-Web are requests for the application. */
export function nativeHandler(parts: NativeHandlerParts): Http2StreamHandler {
  const sessions = new Sessions(parts);
  return (stream, headers, peer) => {
    const format = formatOf(headers["content-type"]);
    if (format?.protocol !== "grpc") return false;
    if (headers[":method"] !== "POST") return false;
    if (sessions.admit(stream)) call(parts, sessions, format, stream, headers, peer);
    else stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    return true;
  };
}

function call(
  { methods, mask, maxMetadataSize }: NativeHandlerParts,
  sessions: Sessions,
  format: Format,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  peer: Http2StreamPeer,
): void {
  stream.on("data", (piece: Buffer) => peer.received(piece.length));
  const { ":path": target = "/", host = "", ":authority": authority = host } = headers;
  const source = new CallSource(
    peer,
    { method: "POST", target, authority, wantsWebSocket: false },
    peer.rawHeaders,
    null,
  );
  const { method, pipeline } = methods.byPath.get(source.path) ?? methods.unknown;
  const request = new Request(source);
  let wire: Wire;
  try {
    checkMetadata(peer.rawHeaders, maxMetadataSize);
    wire = readWire(source, format);
  } catch (error) {
    const fields = ["grpc-accept-encoding", acceptedEncodings];
    new NativeCall(stream, request, null, mask).refuse(outcomeOfError(error, mask), fields);
    return;
  }
  const isCut = (): boolean => stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR;
  const incoming = new PushedFrames(stream, method.maxMessageSize, peer.bodyMemory, isCut);
  const exchange = new Exchange(request, method, wire, incoming);
  source.exchange = exchange;
  const made = new NativeCall(stream, request, exchange, mask);
  const ended = sessions.begin(stream);
  stream.on("close", () => {
    if (!made.complete) request.abort(clientLeft());
    exchange.end();
    request.finish();
    if (exchange.running) exchange.onSettled = ended;
    else ended();
  });
  const response = insideCall(exchange.call, () => pipeline.dispatch(request));
  const send = (given: Response): void => {
    try {
      made.send(given);
    } catch (error) {
      // Fields that HTTP/2 cannot send. The error must not end the process, and the client must not wait.
      request.log.error("the response of a call cannot be sent", { error });
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  };
  if (response instanceof Promise) void response.then(send);
  else send(response);
}

/** Counted as HTTP/2 does (RFC 9113 section 6.5.2). */
function checkMetadata(lines: readonly string[], limit: number): void {
  let size = 16 * lines.length;
  for (const text of lines) size += text.length;
  if (size > limit)
    throw new GrpcError("RESOURCE_EXHAUSTED", `the metadata is larger than the limit of ${limit} bytes`);
}
