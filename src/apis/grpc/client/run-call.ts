import type { OutgoingHttpHeaders } from "node:http2";
import type { Span } from "../../../kit/tracer.js";
import { type BoundMethod, clientStreams, serverStreams } from "../bound-method.js";
import { GrpcError } from "../grpc-error.js";
import { type Metadata, previousAttempts } from "../metadata.js";
import { GrpcStatus } from "../status.js";
import { acceptedEncodings, compress, decompress, minimumToCompress } from "../wire/compression.js";
import { type Frame, frameOf, prefixLength } from "../wire/frames.js";
import { writeGrpcTimeout } from "../wire/timeout.js";
import { Attempt } from "./attempt.js";
import { CallLimits, type LimitedCall } from "./call-limits.js";
import type { ChannelSettings } from "./channel-options.js";
import type { Outgoing } from "./client-types.js";
import { KeptFrames } from "./kept-frames.js";
import type { Picker } from "./pick-first.js";
import { type FailedAttempt, Retries, type RetryPolicy } from "./retries.js";
import { configOf } from "./service-config.js";

export interface CallParts extends LimitedCall {
  readonly method: CalledMethod;
  readonly messages: Outgoing<unknown>;
  /** Of the channel, then of the call. */
  readonly metadata: readonly Metadata[];
  readonly settings: ChannelSettings;
  readonly picker: Picker;
}

/** The longest time between two attempts, in milliseconds. */
const longestPause = 5_000;

/** Runs a call: the messages of the server, then its end. Attempts that the server has not begun are repeated. */
export async function* runCall(parts: CallParts): AsyncGenerator<unknown> {
  const { method, settings } = parts;
  const isStream = serverStreams(method);
  const { timeout: most = Infinity, retryPolicy } = configOf(settings.serviceConfig, method.service, method.name);
  const limits = new CallLimits(parts, method.kind === "unary" ? settings.timeout : 0, most);
  const idempotent = parts.options.idempotent ?? method.idempotent;
  const retries = new Retries(retryPolicy ?? usualPolicy(settings), settings.serviceConfig.retryThrottling, idempotent);
  // Without a policy a stream that was sent in part is never repeated.
  const kept = retryPolicy && clientStreams(method) ? new KeptFrames(parts.messages, encoder(parts)) : null;
  const span = startSpan(parts);
  let received = 0;
  let failure: unknown;
  try {
    limits.check();
    for (;;) {
      const run = new CallAttempt(parts, limits, span, retries.previous, kept);
      try {
        for await (const message of run.messages()) {
          if (++received > 1 && !isStream)
            throw new GrpcError("UNIMPLEMENTED", "the server sent more than one message");
          yield message;
        }
        break;
      } catch (error) {
        const pause = retries.pauseAfter(error, run);
        if (pause === null) throw error;
        await limits.pause(pause, error);
      } finally {
        run.end();
      }
    }
    if (received === 0 && !isStream) throw new GrpcError("UNIMPLEMENTED", "the server sent no message");
    retries.succeeded();
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    kept?.end();
    limits.end();
    endSpan(span, failure);
  }
}

/** The policy of calls that the service config does not name. */
function usualPolicy({ retries, retryDelay }: ChannelSettings): RetryPolicy {
  return {
    attempts: retries + 1,
    first: retryDelay * 1000,
    longest: longestPause,
    factor: 2,
    jitter: 0.5,
    codes: unavailable,
    onlySafe: true,
  };
}

const unavailable: ReadonlySet<number> = new Set([GrpcStatus.UNAVAILABLE]);

/** One attempt, with its messages in both directions. */
class CallAttempt implements FailedAttempt {
  #attempt: Attempt | null = null;
  #release: (() => void) | null = null;
  #forget: (() => void) | null = null;
  /** An error of this client: of the messages that it sends, or of its `onHeaders`. */
  #ownError: unknown = null;
  #done = false;

  constructor(
    private readonly parts: CallParts,
    private readonly limits: CallLimits,
    private readonly span: Span | null,
    private readonly previous: number,
    private readonly kept: KeptFrames | null,
  ) {}

  async *messages(): AsyncGenerator<unknown> {
    const { picker, settings, options } = this.parts;
    const { connection, session } = await this.#unlessOver(picker.pick());
    this.#release = connection.begin(session);
    const attempt = new Attempt(session, this.#headers(), settings.maxMessageSize, (metadata) => {
      try {
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
        throw this.#ownError ?? error;
      }
      if (frame === null) break;
      yield await this.#decode(frame, attempt);
    }
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

  /** Also for a consumer that stops early: the server learns that nobody listens. */
  end(): void {
    this.#forget?.();
    if (!this.#done) this.#attempt?.cancel(new GrpcError("CANCELLED", "the call was cancelled"));
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
        for await (const frame of this.kept) if (!(await attempt.write(frame))) return;
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
      if (attempt.encoding === null) throw new GrpcError("INTERNAL", "a message is compressed, and no header says how");
      data = await decompress(data, attempt.encoding, settings.maxMessageSize);
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
      for (const [name, value] of metadata.wire()) {
        const known = headers[name];
        headers[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [String(known)]), value];
      }
    }
    return headers;
  }
}

/** Makes frames of messages. */
function encoder({ method, settings }: CallParts): (message: unknown) => Promise<Uint8Array> {
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

function startSpan({ method, settings }: CallParts): Span | null {
  const { service, name } = method;
  const { hostname, port, protocol } = settings.urls[0]!;
  return (
    settings.tracer()?.start(
      `${service}/${name}`,
      {
        "rpc.system": "grpc",
        "rpc.service": service,
        "rpc.method": name,
        "server.address": hostname,
        "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
      },
      { kind: "client" },
    ) ?? null
  );
}

function endSpan(span: Span | null, failure: unknown): void {
  if (span === null) return;
  span.set("rpc.grpc.status_code", failure === undefined ? 0 : failure instanceof GrpcError ? failure.grpcCode : 2);
  span.end(failure);
}

/** A method that a client calls. */
export type CalledMethod = Pick<BoundMethod, "service" | "name" | "kind" | "input" | "output" | "idempotent">;
