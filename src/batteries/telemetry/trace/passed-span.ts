import type { Baggage } from "../propagation/baggage.js";
import { ContextSpan, type RemoteParent, type SpanSource } from "./context.js";
import { newSpanId } from "./ids.js";

/** A span of a trace that is not sampled. It is passed on to other services and records nothing. */
export class PassedSpan extends ContextSpan {
  readonly recording = false;
  #spanId: string | null = null;

  /** Made when it is first needed: most requests call no other service. */
  get spanId(): string {
    return (this.#spanId ??= newSpanId());
  }

  set(): this {
    return this;
  }

  event(): this {
    return this;
  }

  rename(): this {
    return this;
  }

  end(): void {}
}

/** A span of another process as the current one: its context was read from headers by the code of a user. */
export class RemoteSpan extends PassedSpan {
  readonly #id: string;

  constructor(source: SpanSource, { traceId, spanId, flags, state }: RemoteParent, baggage: Baggage | null) {
    super(source, traceId, flags, state, baggage);
    this.#id = spanId;
  }

  override get spanId(): string {
    return this.#id;
  }

  override get remote(): boolean {
    return true;
  }
}
