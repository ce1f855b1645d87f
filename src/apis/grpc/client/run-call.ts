import type { OutgoingHttpHeaders } from "node:http2";
import { seconds } from "../../../kit/duration.js";
import { backoff } from "../../../kit/time/backoff.js";
import { longestDelay } from "../../../kit/time/within.js";
import type { Span } from "../../../kit/tracer.js";
import type { Codec } from "../codec/codec.js";
import type { MethodKind } from "../descriptors.js";
import type { GrpcCall } from "../grpc-call.js";
import { GrpcError } from "../grpc-error.js";
import type { Metadata } from "../metadata.js";
import { GrpcStatus } from "../status.js";
import { acceptedEncodings, compress, decompress, minimumToCompress } from "../wire/compression.js";
import { type Frame, frameOf, prefixLength } from "../wire/frames.js";
import { writeGrpcTimeout } from "../wire/timeout.js";
import { Attempt } from "./attempt.js";
import type { ChannelSettings } from "./channel-options.js";
import type { CallOptions, Outgoing } from "./client-types.js";
import type { Connection } from "./connection.js";

export interface CallParts {
  readonly method: CalledMethod;
  readonly messages: Outgoing<unknown>;
  readonly options: CallOptions;
  /** Of the channel, then of the call. */
  readonly metadata: readonly Metadata[];
  /** The time of `performance.now()` from which the timeout counts. */
  readonly started: number;
  /** The call whose handler makes this one. */
  readonly parent: GrpcCall | null;
  readonly settings: ChannelSettings;
  readonly connection: Connection;
}

/** The longest time between two attempts, in milliseconds. */
const longestPause = 5_000;

/** Runs a call: the messages of the server, then its end. Attempts that the server has not begun are repeated. */
export async function* runCall(parts: CallParts): AsyncGenerator<unknown> {
  const { method, settings } = parts;
  const isStream = method.kind === "server_streaming" || method.kind === "bidi_streaming";
  const limits = new CallLimits(parts, method.kind === "unary" ? settings.timeout : 0);
  const span = startSpan(parts);
  let received = 0;
  let failure: unknown;
  try {
    limits.check();
    for (let attempt = 0; ; attempt++) {
      const run = new CallAttempt(parts, limits, span);
      try {
        for await (const message of run.messages()) {
          if (++received > 1 && !isStream)
            throw new GrpcError("UNIMPLEMENTED", "the server sent more than one message");
          yield message;
        }
        break;
      } catch (error) {
        if (attempt >= settings.retries || !run.canRepeat(error)) throw error;
        await limits.pause(backoff(attempt, settings.retryDelay * 1000, longestPause), error);
      } finally {
        run.end();
      }
    }
    if (received === 0 && !isStream) throw new GrpcError("UNIMPLEMENTED", "the server sent no message");
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    limits.end();
    endSpan(span, failure);
  }
}

/** The deadline and the signal of a call. */
class CallLimits {
  readonly #deadline: number | null;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #signals: readonly AbortSignal[];
  readonly #listeners = new Set<(error: GrpcError) => void>();
  readonly #onAbort = (): void => this.#fail(abortFailure(this.#signals.find(({ aborted }) => aborted)?.reason));
  #failure: GrpcError | null = null;

  constructor({ options, started, parent: serving }: CallParts, usual: number) {
    const { timeout, signal, inherit = true } = options;
    const parent = inherit ? serving : null;
    const limit = seconds(timeout ?? usual) * 1000;
    const end = Math.min(
      limit > 0 ? started + limit : Infinity,
      parent?.deadline ? performance.now() + parent.deadline.getTime() - Date.now() : Infinity,
    );
    this.#deadline = end === Infinity ? null : end;
    this.#signals = [signal, parent?.signal].filter((given) => given !== undefined);
    const { left } = this;
    if (left === 0) this.#fail(deadlinePassed());
    else if (left !== null) {
      this.#timer = setTimeout(() => this.#fail(deadlinePassed()), Math.min(left, longestDelay));
    }
    for (const one of this.#signals) {
      if (one.aborted) this.#onAbort();
      else one.addEventListener("abort", this.#onAbort);
    }
  }

  /** Throws if the call is over. */
  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** Milliseconds that are left; null for no limit. */
  get left(): number | null {
    return this.#deadline === null ? null : Math.max(0, this.#deadline - performance.now());
  }

  /** Calls back with the error of a call that is over. Returns a function that ends it. */
  onOver(listener: (error: GrpcError) => void): () => void {
    if (this.#failure !== null) listener(this.#failure);
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits; throws when the call is over meanwhile. `cause` is the error of the last attempt. */
  pause(milliseconds: number, cause: unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      const left = this.left;
      // The next attempt could not begin: the reason of the last one is the better message.
      if (left !== null && left <= milliseconds) return reject(cause);
      const timer = setTimeout(() => {
        forget();
        resolve();
      }, milliseconds);
      const forget = this.onOver((error) => {
        clearTimeout(timer);
        reject(error);
      });
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#onAbort);
  }

  #fail(error: GrpcError): void {
    this.#failure ??= error;
    for (const listener of this.#listeners) listener(this.#failure);
  }
}

/** The deadline of a call that is served ends the calls of its handler with the same code. */
function abortFailure(reason: unknown): GrpcError {
  if (reason instanceof GrpcError && reason.grpcCode === GrpcStatus.DEADLINE_EXCEEDED) return deadlinePassed();
  return new GrpcError("CANCELLED", "the call was cancelled", { cause: reason });
}

function deadlinePassed(): GrpcError {
  return new GrpcError("DEADLINE_EXCEEDED", "the deadline has passed");
}

/** One attempt, with its messages in both directions. */
class CallAttempt {
  readonly #parts: CallParts;
  readonly #limits: CallLimits;
  readonly #span: Span | null;
  #attempt: Attempt | null = null;
  #release: (() => void) | null = null;
  #forget: (() => void) | null = null;
  /** An error of the messages that this client sends. */
  #sendError: unknown = null;
  #done = false;

  constructor(parts: CallParts, limits: CallLimits, span: Span | null) {
    this.#parts = parts;
    this.#limits = limits;
    this.#span = span;
  }

  async *messages(): AsyncGenerator<unknown> {
    const { connection, settings, options } = this.#parts;
    const session = await this.#unlessOver(connection.ready());
    this.#release = connection.begin(session);
    const attempt = new Attempt(session, this.#headers(), settings.maxMessageSize, (metadata) =>
      options.onHeaders?.(metadata),
    );
    this.#attempt = attempt;
    this.#forget = this.#limits.onOver((error) => attempt.cancel(error));
    // Not awaited: a server may end a call before it has all messages.
    void this.#send(attempt);
    for (;;) {
      let frame: Frame | null;
      try {
        frame = await attempt.next();
      } catch (error) {
        throw this.#sendError ?? error;
      }
      if (frame === null) break;
      yield await this.#decode(frame, attempt);
    }
    this.#done = true;
    options.onTrailers?.(attempt.trailers);
  }

  /** True if the same call can be sent again: the server has not begun it, or it may be repeated. */
  canRepeat(error: unknown): boolean {
    const { method, options } = this.#parts;
    if (!(error instanceof GrpcError) || error.grpcCode !== GrpcStatus.UNAVAILABLE) return false;
    const attempt = this.#attempt;
    if (attempt === null) return true;
    const once = method.kind === "unary" || method.kind === "server_streaming";
    if (!once || attempt.committed) return false;
    return attempt.refused || (options.idempotent ?? method.idempotent);
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
      const forget = this.#limits.onOver(reject);
      work.then(resolve, reject).finally(forget);
    });
  }

  async #send(attempt: Attempt): Promise<void> {
    const { messages, method } = this.#parts;
    try {
      if (Array.isArray(messages) && messages.length === 1) {
        attempt.end(await this.#encode(messages[0]));
        return;
      }
      for await (const message of messages) if (!(await attempt.write(await this.#encode(message)))) return;
      attempt.end();
    } catch (error) {
      this.#sendError = error;
      attempt.cancel(new GrpcError("CANCELLED", `the messages of ${method.name} failed`, { cause: error }));
    }
  }

  async #encode(message: unknown): Promise<Uint8Array> {
    const frame = this.#parts.method.input.encode(message);
    const size = frame.length - prefixLength;
    if (this.#parts.settings.compression && size >= minimumToCompress) {
      return frameOf(await compress(frame.subarray(prefixLength), "gzip"), 1);
    }
    frame[0] = 0;
    frame.writeUInt32BE(size, 1);
    return frame;
  }

  async #decode(frame: Frame, attempt: Attempt): Promise<unknown> {
    const { method, settings } = this.#parts;
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
    const { method, settings } = this.#parts;
    const headers: OutgoingHttpHeaders = {
      ":method": "POST",
      ":path": `/${method.service}/${method.name}`,
      "content-type": "application/grpc",
      te: "trailers",
      "user-agent": "stoa",
      "grpc-accept-encoding": acceptedEncodings,
      ...(settings.compression && { "grpc-encoding": "gzip" }),
    };
    const { left } = this.#limits;
    if (left !== null) headers["grpc-timeout"] = writeGrpcTimeout(left);
    if (this.#span !== null) Object.assign(headers, this.#span.headers());
    for (const metadata of this.#parts.metadata) {
      for (const [name, value] of metadata.wire()) {
        const known = headers[name];
        headers[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [String(known)]), value];
      }
    }
    return headers;
  }
}

function startSpan({ method, settings }: CallParts): Span | null {
  const { service, name } = method;
  const { hostname, port, protocol } = settings.url;
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
export interface CalledMethod {
  readonly service: string;
  readonly name: string;
  readonly kind: MethodKind;
  readonly input: Codec;
  readonly output: Codec;
  readonly idempotent: boolean;
}
