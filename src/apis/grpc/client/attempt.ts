import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { deferred } from "../../../kit/deferred.js";
import { decodeStatusDetails } from "../codec/status-message.js";
import { GrpcError } from "../grpc-error.js";
import { isReserved, Metadata } from "../metadata.js";
import { PushedFrames } from "../server/incoming.js";
import { codeOfProxy, GrpcStatus, type GrpcStatusCode } from "../status.js";
import type { Frame } from "../wire/frames.js";
import { decodeGrpcMessage } from "../wire/grpc-message.js";
import { formatOf } from "../wire/wire.js";

/** One attempt of a call: a stream of HTTP/2. */
export class Attempt {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  readonly #frames: PushedFrames;
  #headers: IncomingHttpHeaders | null = null;
  #trailers: IncomingHttpHeaders | null = null;
  /** Set when the client itself ends the call. */
  #cancelled: GrpcError | null = null;
  readonly #over = deferred<void>();

  constructor(
    session: ClientHttp2Session,
    headers: OutgoingHttpHeaders,
    limit: number,
    onHeaders: (metadata: Metadata) => void,
  ) {
    this.#session = session;
    this.#stream = session.request(headers);
    this.#frames = new PushedFrames(this.#stream, limit);
    const stream = this.#stream;
    stream.on("error", () => {});
    stream.on("response", (received) => {
      this.#headers = received;
      if (received["grpc-status"] !== undefined) {
        this.#trailers = received;
        return;
      }
      // Before its body is read: that of a proxy is not made of messages.
      const failure = proxyFailure(received);
      if (failure !== null) this.cancel(failure);
      else onHeaders(metadataOf(received));
    });
    stream.on("trailers", (received) => {
      this.#trailers = received;
    });
    stream.on("close", () => {
      this.#frames.fail(this.#failure() ?? new GrpcError("INTERNAL", "the response is incomplete"));
      this.#over.resolve();
    });
  }

  /** True if the server has begun to respond: the call cannot be repeated. */
  get committed(): boolean {
    return this.#headers !== null && this.#trailers !== this.#headers;
  }

  /** True if the server has not looked at the call: it can be repeated. */
  get refused(): boolean {
    return this.#stream.rstCode === constants.NGHTTP2_REFUSED_STREAM && this.#headers === null;
  }

  /** The header that names the compression of the server's messages. */
  get encoding(): string | undefined {
    const encoding = this.#headers?.["grpc-encoding"];
    return typeof encoding === "string" ? encoding : undefined;
  }

  get trailers(): Metadata {
    return metadataOf(this.#trailers ?? {});
  }

  /** Resolves when the server can take more. False if it takes nothing any more. */
  async write(frame: Uint8Array): Promise<boolean> {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return false;
    if (stream.write(frame)) return true;
    await new Promise<void>((resolve) => {
      stream.once("drain", resolve);
      void this.#over.promise.then(resolve);
    });
    return !stream.destroyed;
  }

  end(frame?: Uint8Array): void {
    if (this.#stream.destroyed) return;
    if (frame === undefined) this.#stream.end();
    else this.#stream.end(frame);
  }

  cancel(error: GrpcError): void {
    this.#cancelled ??= error;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#frames.fail(error);
  }

  /** The next frame; null at the end of a call that succeeded. Throws the error of one that failed. */
  async next(): Promise<Frame | null> {
    const frame = await this.#frames.next();
    if (frame !== null) {
      // Behind a message the status is in the trailers alone.
      if (this.#trailers === this.#headers) this.#trailers = null;
      return frame;
    }
    // The trailers come with the end or just after it.
    if (this.#trailers === null) await this.#over.promise;
    const failure = this.#failure();
    if (failure !== null) throw failure;
    return null;
  }

  /** The error of the call; null if it succeeded. */
  #failure(): GrpcError | null {
    if (this.#cancelled !== null) return this.#cancelled;
    const trailers = this.#trailers;
    if (trailers === null) {
      // Node closes the streams of a lost connection with CANCEL, which looks like a reset by the server.
      if (this.#session.destroyed) return new GrpcError("UNAVAILABLE", "the connection was lost");
      return resetFailure(this.#stream.rstCode, this.#headers === null);
    }
    return statusFailure(trailers);
  }
}

function metadataOf(headers: IncomingHttpHeaders): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) {
    if (isReserved(name) || value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) metadata.receive(name, item);
  }
  return metadata;
}

/** The error in the trailers; null for OK. */
function statusFailure(trailers: IncomingHttpHeaders): GrpcError | null {
  const status = Number(trailers["grpc-status"] ?? Number.NaN);
  if (status === GrpcStatus.OK) return null;
  const code = Number.isInteger(status) && status > 0 && status <= 16 ? (status as GrpcStatusCode) : GrpcStatus.UNKNOWN;
  const message = trailers["grpc-message"];
  const metadata = metadataOf(trailers);
  const packed = trailers["grpc-status-details-bin"];
  const details = typeof packed === "string" ? decodeStatusDetails(Buffer.from(packed, "base64")) : [];
  return new GrpcError(code, typeof message === "string" ? decodeGrpcMessage(message) : undefined, {
    details,
    metadata,
  });
}

/** The error of a response that is not one of gRPC: of a proxy. */
function proxyFailure(headers: IncomingHttpHeaders): GrpcError | null {
  const status = Number(headers[":status"] ?? 0);
  const type = headers["content-type"];
  if (status === 200 && formatOf(type)?.protocol === "grpc") return null;
  const code = codeOfProxy(status);
  return new GrpcError(code, `the server responded with HTTP status ${status} and type ${String(type).slice(0, 100)}`);
}

/** The error of a stream that the server or the network has ended. */
function resetFailure(code: number | undefined, nothingCame: boolean): GrpcError {
  switch (code) {
    case constants.NGHTTP2_CANCEL:
      return new GrpcError("CANCELLED", "the server has cancelled the call");
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return new GrpcError("RESOURCE_EXHAUSTED", "the server refuses further calls");
    case constants.NGHTTP2_INADEQUATE_SECURITY:
      return new GrpcError("PERMISSION_DENIED", "the connection is not secure enough");
    case constants.NGHTTP2_NO_ERROR:
      if (!nothingCame) return new GrpcError("INTERNAL", "the response has no status");
      return new GrpcError("UNAVAILABLE", "the connection was lost");
    case constants.NGHTTP2_REFUSED_STREAM:
    case undefined:
      return new GrpcError("UNAVAILABLE", "the connection was lost");
    default:
      return new GrpcError("INTERNAL", `the stream was reset with code ${code}`);
  }
}
