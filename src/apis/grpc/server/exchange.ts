import { HttpError } from "../../../errors/http-error.js";
import type { Request } from "../../../http/request.js";
import { Response } from "../../../http/response.js";
import { Http2RequestSource } from "../../../server/http2/source.js";
import type { BoundMethod } from "../bound-method.js";
import { GrpcCall } from "../grpc-call.js";
import { GrpcError } from "../grpc-error.js";
import { malformedCall } from "../malformed-call.js";
import { compress, decompress, type Encoding, minimumToCompress } from "../wire/compression.js";
import { type Frame, frameOf, prefixLength, tooLarge } from "../wire/frames.js";
import type { Wire } from "../wire/wire.js";
import type { Incoming } from "./incoming.js";

/** A call on its way through the pipeline: its messages in and out. */
export class Exchange {
  readonly call: GrpcCall;
  /** True if the handler has given a response, in whole or in part. */
  replied = false;
  /** True while the handler runs. */
  running = false;
  /** Called when the handler has ended after the call was. */
  onSettled: (() => void) | null = null;
  /** Called with the error of the call when it is aborted: its deadline has passed, or the client has disconnected. */
  onAbort: ((error: unknown) => void) | null = null;
  readonly #timer: NodeJS.Timeout | null;

  constructor(
    readonly request: Request,
    readonly method: BoundMethod,
    readonly wire: Wire,
    readonly incoming: Incoming,
  ) {
    const { timeout } = wire;
    this.call = new GrpcCall(request, method, wire.protocol, timeout === null ? null : new Date(Date.now() + timeout));
    this.#timer = timeout === null ? null : setTimeout(() => request.abort(deadlineExceeded()), timeout);
    request.onAbort((reason) => {
      const error = abortError(reason);
      incoming.fail(error);
      this.onAbort?.(error);
    });
  }

  /** The handler has ended. */
  settled(): void {
    this.running = false;
    this.onSettled?.();
  }

  /** Ends the deadline. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** The only message of a request that is no stream. */
  async single(): Promise<unknown> {
    const frames: Frame[] = [];
    for (let frame = await this.incoming.next(); frame !== null; frame = await this.incoming.next()) {
      frames.push(frame);
      if (frames.length > 1) break;
    }
    return this.decode(this.only(frames));
  }

  /** Throws unless there is exactly one frame. */
  only(frames: readonly Frame[]): Frame {
    const [frame] = frames;
    if (frame !== undefined && frames.length === 1) return frame;
    const sent = frame === undefined ? "none was" : "more were";
    throw new GrpcError("UNIMPLEMENTED", `${this.method.path} takes one message, and ${sent} sent`);
  }

  decode(frame: Frame): unknown {
    const { maxMessageSize } = this.method;
    const { encoding, enveloped } = this.wire;
    if ((frame.flags & 1) === 0) return this.#parse(frame.data);
    if (encoding === null) throw malformedCall("a message is compressed, and no header says how");
    // An empty body of a unary call of Connect is no compressed message.
    if (!enveloped && frame.data.length === 0) return this.#parse(frame.data);
    const data = decompress(frame.data, encoding, maxMessageSize, malformedCall);
    return data instanceof Promise ? data.then((bytes) => this.#parse(bytes)) : this.#parse(data);
  }

  /** The frame of a message. */
  encode(message: unknown): Buffer | Promise<Buffer> {
    const frame = this.#format(message);
    const size = frame.length - prefixLength;
    if (size > this.method.maxResponseSize) throw tooLarge(size, this.method.maxResponseSize);
    const encoding = this.encoding;
    if (encoding === null || size < minimumToCompress) {
      frame[0] = 0;
      frame.writeUInt32BE(size, 1);
      return frame;
    }
    return compress(frame.subarray(prefixLength), encoding).then((data) => frameOf(data, 1));
  }

  /** The compression of responses. */
  get encoding(): Encoding | null {
    return this.method.compression ? this.wire.accepts : null;
  }

  /** The response of the handler: a frame, or a stream of frames. */
  reply(body: Buffer | AsyncIterable<Uint8Array>): Response {
    const { wire, encoding } = this;
    this.replied = true;
    let sent = body;
    let encoded = encoding !== null;
    if (!wire.enveloped) {
      encoded = (body as Buffer)[0] === 1;
      sent = (body as Buffer).subarray(prefixLength);
    }
    const response = new Response(sent, 200, wire.type);
    if (encoded) response.addField(encodingField(wire), encoding!);
    return response;
  }

  /** Adds the headers that the handler has set. Those of a stream are known with its first message. */
  addMetadata(response: Response): void {
    const own = this.call.ownHeaders;
    if (own !== null) for (const [name, value] of own.wire()) response.addField(name, value);
  }

  #format(message: unknown): Buffer {
    const { output, path } = this.method;
    try {
      if (!this.wire.json) return output.encode(message);
      return Buffer.concat([noPrefix, Buffer.from(output.toJson(message))]);
    } catch (error) {
      // A mistake of the handler, which its log names.
      throw new TypeError(`the handler of ${path} returned no ${output.typeName}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  #parse(data: Uint8Array): unknown {
    const { input } = this.method;
    try {
      return this.wire.json ? input.fromJson(strict.decode(data)) : input.decode(data);
    } catch (error) {
      if (error instanceof GrpcError) throw error;
      throw new GrpcError("INVALID_ARGUMENT", `the message is no ${input.typeName}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}

const noPrefix = Buffer.alloc(prefixLength);
const strict = new TextDecoder("utf-8", { fatal: true });

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function encodingField(wire: Wire): string {
  if (wire.protocol !== "connect") return "grpc-encoding";
  return wire.enveloped ? "Connect-Content-Encoding" : "Content-Encoding";
}

/** The error of a call that was aborted: its deadline, a timeout of the pipeline, or the client. */
function abortError(reason: unknown): unknown {
  if (reason instanceof HttpError) return reason;
  return new GrpcError("CANCELLED", "the client has cancelled the call");
}

function deadlineExceeded(): GrpcError {
  return new GrpcError("DEADLINE_EXCEEDED", "the deadline has passed");
}

/** A stream of HTTP/2 as the source of a request. The messages in it belong to the call. */
export class CallSource extends Http2RequestSource {
  exchange: Exchange | null = null;
}
