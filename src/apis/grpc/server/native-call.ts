import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { discardBody, stopIterator } from "../../../http/discard.js";
import type { Request } from "../../../http/request.js";
import type { Response } from "../../../http/response.js";
import { serverStreams } from "../bound-method.js";
import { encodeStatus } from "../codec/status-message.js";
import type { Metadata } from "../metadata.js";
import { base64 } from "../metadata.js";
import { addLine } from "../wire/add-line.js";
import { encodeGrpcMessage } from "../wire/grpc-message.js";
import type { Exchange } from "./exchange.js";
import { noteLateFailure, type Outcome, outcomeOfError, outcomeOfResponse, success } from "./outcome.js";

/** Writes the response of a call of gRPC to its stream. */
export class NativeCall {
  #outcome: Outcome = success;
  /** True if the end of the call is on its way: nothing is left to abort. */
  complete = false;

  /** `exchange` is null for a call that failed before there was one. */
  constructor(
    private readonly stream: ServerHttp2Stream,
    private readonly request: Request,
    private readonly exchange: Exchange | null,
    private readonly mask: boolean,
  ) {}

  send(response: Response): void {
    const stream = this.stream;
    if (stream.destroyed || stream.closed) {
      discardBody(response);
      return;
    }
    const exchange = this.exchange;
    if (exchange === null || !exchange.replied || response.status !== 200 || response.type !== exchange.wire.type) {
      discardBody(response);
      this.refuse(outcomeOfResponse(this.request, response, this.mask), response.fields);
      return;
    }
    exchange.addMetadata(response);
    const headers = fieldsOf(response.fields);
    headers[":status"] = 200;
    headers["content-type"] = exchange.wire.type;
    this.#begin(headers);
    const { body } = response;
    if (body instanceof Uint8Array) {
      stream.end(body);
    } else {
      void this.#pump(body as AsyncIterable<Uint8Array>);
    }
  }

  /** Ends the call without a message: headers and trailers in one, unless the handler of a stream has set headers. */
  refuse(outcome: Outcome, fields: readonly string[] | null = null): void {
    const headers = fieldsOf(fields);
    this.complete = true;
    for (const name of problemFields) delete headers[name];
    headers[":status"] = 200;
    headers["content-type"] = this.exchange?.wire.type ?? "application/grpc";
    const { exchange, stream } = this;
    const own = exchange?.call.ownHeaders ?? null;
    if (exchange !== null && own !== null && own.size > 0 && serverStreams(exchange.method)) {
      for (const [name, value] of own.wire()) addLine(headers, name, value);
      this.#outcome = outcome;
      this.#begin(headers);
      stream.end();
      return;
    }
    // Without a separate frame: clients do not repeat a call after such a frame (gRFC A6).
    stream.respond(Object.assign(headers, this.#trailersOf(outcome, own)), refusalOptions);
    this.#leaveRequest();
  }

  #begin(headers: OutgoingHttpHeaders): void {
    this.stream.respond(headers, responseOptions);
    this.stream.on("wantTrailers", () => this.#sendTrailers());
  }

  /** Messages as fast as the client takes them: a full window pauses the handler. */
  async #pump(body: AsyncIterable<Uint8Array>): Promise<void> {
    const stream = this.stream;
    const iterator = body[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await iterator.next();
        if (done) break;
        if (stream.destroyed) {
          stopIterator(iterator);
          return;
        }
        if (value.length > 0 && !stream.write(value)) await drained(stream);
      }
    } catch (error) {
      this.#outcome = outcomeOfError(error, this.mask);
      noteLateFailure(this.request, error, this.#outcome);
    }
    if (!stream.destroyed) stream.end();
  }

  #sendTrailers(): void {
    this.complete = true;
    try {
      this.stream.sendTrailers(this.#trailersOf(this.#outcome));
    } catch {
      // The client has disconnected.
    }
    this.#leaveRequest();
  }

  #trailersOf(outcome: Outcome, headers: Metadata | null = null): OutgoingHttpHeaders {
    const own = this.exchange?.call.ownTrailers ?? null;
    if (outcome === success && own === null) return { "grpc-status": "0" };
    return trailersOf(outcome, headers, own);
  }

  /** The client may still send: after the status it learns that the server no longer listens. */
  #leaveRequest(): void {
    const stream = this.stream;
    if (stream.readableEnded) return;
    this.exchange?.incoming.discard();
    stream.resume();
    setImmediate(() => {
      if (!stream.readableEnded && !stream.destroyed) stream.close(constants.NGHTTP2_NO_ERROR);
    });
  }
}

// Without a date: gRPC has no use for it, and each header costs.
const responseOptions = { waitForTrailers: true, sendDate: false };
const refusalOptions = { endStream: true, sendDate: false };

/** Fields of responses that describe a body or its cache. */
const problemFields = ["content-length", "content-encoding", "cache-control", "vary", "etag"];

function fieldsOf(fields: readonly string[] | null): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  if (fields === null) return headers;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!.toLowerCase();
    if (!hopByHop.has(name)) addLine(headers, name, fields[i + 1]!);
  }
  return headers;
}

/** HTTP/2 has none of these (RFC 9113 section 8.2.2). */
const hopByHop: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade"]);

/** Bytes of trailers. Beyond 64 KiB, node:http2 breaks off the stream, and the client never learns the status. */
const maxTrailers = 60 * 1024;
const maxMessage = 8 * 1024;

/** The trailers of a call. If they are too large, the status and the beginning of its message are left. */
export function trailersOf(outcome: Outcome, ...own: (Metadata | null)[]): Record<string, string | string[]> {
  const trailers = allTrailersOf(outcome, own);
  let bytes = 0;
  for (const [name, value] of Object.entries(trailers)) {
    for (const line of Array.isArray(value) ? value : [value]) bytes += name.length + line.length + 32;
  }
  if (bytes <= maxTrailers) return trailers;
  return allTrailersOf(
    { ...outcome, message: outcome.message.slice(0, maxMessage / 9), details: [], metadata: null },
    [],
  );
}

function allTrailersOf(outcome: Outcome, own: readonly (Metadata | null)[]): Record<string, string | string[]> {
  const trailers: Record<string, string | string[]> = { "grpc-status": String(outcome.code) };
  if (outcome.message !== "") trailers["grpc-message"] = encodeGrpcMessage(outcome.message);
  if (outcome.details.length > 0) {
    trailers["grpc-status-details-bin"] = base64(encodeStatus(outcome.code, outcome.message, outcome.details));
  }
  for (const metadata of [...own, outcome.metadata]) {
    if (metadata !== null) for (const [name, value] of metadata.wire()) addLine(trailers, name, value);
  }
  return trailers;
}

function drained(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}
