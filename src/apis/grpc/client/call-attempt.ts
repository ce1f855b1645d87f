import type { OutgoingHttpHeaders } from "node:http2";
import type { Span } from "../../../kit/tracer.js";
import { type BoundMethod, clientStreams } from "../bound-method.js";
import { GrpcError } from "../grpc-error.js";
import { type Metadata, previousAttempts } from "../metadata.js";
import { addLine } from "../wire/add-line.js";
import { acceptedEncodings, compress, decompress, minimumToCompress, readEncoding } from "../wire/compression.js";
import { type Frame, frameOf, prefixLength } from "../wire/frames.js";
import { writeGrpcTimeout } from "../wire/timeout.js";
import { Attempt } from "./attempt.js";
import type { CallLimits, LimitedCall } from "./call-limits.js";
import type { ChannelSettings } from "./channel-options.js";
import type { Outgoing } from "./client-types.js";
import type { KeptFrames } from "./kept-frames.js";
import type { Picker } from "./pick-first.js";
import type { FailedAttempt } from "./retries.js";

/** A method that a client calls. */
export type CalledMethod = Pick<BoundMethod, "service" | "name" | "kind" | "input" | "output" | "idempotent">;

export interface CallParts extends LimitedCall {
  readonly method: CalledMethod;
  readonly messages: Outgoing<unknown>;
  /** Of the channel, then of the call. */
  readonly metadata: readonly Metadata[];
  readonly settings: ChannelSettings;
  readonly picker: Picker;
}

/** One attempt, with its messages in both directions. */
export class CallAttempt implements FailedAttempt {
  #attempt: Attempt | null = null;
  #release: (() => void) | null = null;
  #forget: (() => void) | null = null;
  /** An error of this client: of the messages that it sends, or of its `onHeaders`. */
  #ownError: unknown = null;
  #done = false;
  #ended = false;

  constructor(
    private readonly parts: CallParts,
    private readonly limits: CallLimits,
    private readonly span: Span | null,
    private readonly previous: number,
    private readonly kept: KeptFrames | null,
    /** Called when the call depends on this attempt alone. False if it depends on another one. */
    private readonly commit: (attempt: CallAttempt) => boolean = () => true,
  ) {}

  async *messages(): AsyncGenerator<unknown> {
    const { picker, settings, options } = this.parts;
    const { connection, session } = await this.#unlessOver(picker.pick());
    if (this.#ended) throw cancelled();
    this.#release = connection.begin(session);
    const attempt = new Attempt(session, this.#headers(), settings.maxMessageSize, (metadata) => {
      try {
        if (!this.commit(this)) return;
        options.onHeaders?.(metadata);
      } catch (error) {
        this.#fail(attempt, "onHeaders", error);
      }
    });
    this.#attempt = attempt;
    this.#forget = this.limits.onOver((error) => attempt.cancel(error));
    // Not awaited: a server may end a call before it has all messages.
    void this.#send(attempt);
    for (;;) {
      let frame: Frame | null;
      try {
        frame = await attempt.next();
      } catch (error) {
        throw this.#ownError ?? this.limits.reasonOf(error);
      }
      if (frame === null) break;
      yield await this.#decode(frame, attempt);
    }
    if (!this.commit(this)) throw cancelled();
    this.#done = true;
    options.onTrailers?.(attempt.trailers);
  }

  get repeatable(): boolean {
    const attempt = this.#attempt;
    if (attempt === null) return true;
    return !attempt.committed && (this.kept?.complete ?? !clientStreams(this.parts.method));
  }

  get unseen(): boolean {
    return this.#attempt === null || this.#attempt.refused;
  }

  get refused(): boolean {
    return this.#attempt?.refused ?? false;
  }

  /** Also for a consumer that stops early: the server learns that the client no longer listens. */
  end(): void {
    this.#ended = true;
    this.#forget?.();
    if (!this.#done) this.#attempt?.cancel(cancelled());
    this.#release?.();
    this.#release = null;
  }

  #unlessOver<T>(work: T | Promise<T>): T | Promise<T> {
    if (!(work instanceof Promise)) return work;
    return new Promise((resolve, reject) => {
      const forget = this.limits.onOver(reject);
      work.then(resolve, reject).finally(forget);
    });
  }

  async #send(attempt: Attempt): Promise<void> {
    const { messages, method } = this.parts;
    const encode = encoder(this.parts);
    try {
      if (this.kept !== null) {
        for await (const frame of this.kept.read(() => this.commit(this))) if (!(await attempt.write(frame))) return;
      } else if (Array.isArray(messages) && messages.length === 1) {
        attempt.end(await encode(messages[0]));
        return;
      } else {
        for await (const message of messages) if (!(await attempt.write(await encode(message)))) return;
      }
      attempt.end();
    } catch (error) {
      this.#fail(attempt, `the messages of ${method.name}`, error);
    }
  }

  #fail(attempt: Attempt, what: string, error: unknown): void {
    this.#ownError = error;
    attempt.cancel(new GrpcError("CANCELLED", `${what} failed`, { cause: error }));
  }

  async #decode(frame: Frame, attempt: Attempt): Promise<unknown> {
    const { method, settings } = this.parts;
    let { data } = frame;
    if ((frame.flags & 1) !== 0) {
      const encoding = readEncoding(attempt.encoding, "INTERNAL");
      if (encoding === null) throw new GrpcError("INTERNAL", "a message is compressed, and no header says how");
      data = await decompress(data, encoding, settings.maxMessageSize);
    }
    try {
      return method.output.decode(data);
    } catch (error) {
      const { typeName } = method.output;
      const cure =
        typeName === "google.protobuf.Struct" ? ": give client() the definition of the service as `proto`" : "";
      throw new GrpcError("INTERNAL", `the response is no ${typeName}${cure}`, { cause: error });
    }
  }

  #headers(): OutgoingHttpHeaders {
    const { method, settings } = this.parts;
    const headers: OutgoingHttpHeaders = {
      ":method": "POST",
      ":path": `/${method.service}/${method.name}`,
      "content-type": "application/grpc",
      te: "trailers",
      "user-agent": "stoa",
      "grpc-accept-encoding": acceptedEncodings,
      ...(settings.compression && { "grpc-encoding": "gzip" }),
    };
    if (this.previous > 0) headers[previousAttempts] = String(this.previous);
    const { left } = this.limits;
    if (left !== null) headers["grpc-timeout"] = writeGrpcTimeout(left);
    if (this.span !== null) Object.assign(headers, this.span.headers());
    for (const metadata of this.parts.metadata) {
      for (const [name, value] of metadata.wire()) addLine(headers, name, value);
    }
    return headers;
  }
}

function cancelled(): GrpcError {
  return new GrpcError("CANCELLED", "the call was cancelled");
}

/** Makes frames of messages. */
export function encoder({ method, settings }: CallParts): (message: unknown) => Promise<Uint8Array> {
  return async (message) => {
    const frame = method.input.encode(message);
    const size = frame.length - prefixLength;
    if (settings.compression && size >= minimumToCompress) {
      return frameOf(await compress(frame.subarray(prefixLength), "gzip"), 1);
    }
    frame[0] = 0;
    frame.writeUInt32BE(size, 1);
    return frame;
  };
}
