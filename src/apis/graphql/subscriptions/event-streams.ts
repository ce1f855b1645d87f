import type { Request } from "../../../http/request.js";
import { Response } from "../../../http/response.js";
import type { SseEvent } from "../../../http/sse.js";
import { GraphqlContext } from "../context.js";
import type { TextResult } from "../execute/compile.js";
import { GraphQLError } from "../graphql-js.js";
import { holdUntil, type Operations, type PreparedOperation } from "../operations.js";
import { EventSource } from "./event-source.js";
import type { SubscriptionCount } from "./subscription-count.js";

/**
 * Operations over server-sent events: the "distinct connections mode" of the GraphQL over SSE protocol. Each event is
 * made when the client has taken the one before.
 */
export class EventStreams {
  readonly #open = new Set<() => void>();
  #draining = false;

  constructor(
    private readonly operations: Operations,
    private readonly count: SubscriptionCount,
  ) {}

  respond(request: Request, prepared: PreparedOperation): Response {
    return Response.sse((signal) => this.#events(request, prepared, signal), { heartbeat: 12 });
  }

  /** Ends all streams: the server drains. */
  drain(): void {
    this.#draining = true;
    for (const end of this.#open) end();
  }

  async *#events(request: Request, prepared: PreparedOperation, signal: AbortSignal): AsyncIterableIterator<SseEvent> {
    const text = (result: TextResult): string => this.operations.responseText(result, request);
    const next = (result: TextResult): SseEvent => ({ event: "next", data: text(result) });
    if (prepared.kind !== "subscription") {
      const context = new GraphqlContext(request);
      const result = await this.operations.execute(prepared, context, true);
      const payloads = this.operations.payloads(result, context, (running) => holdUntil(request, running));
      for await (const data of payloads) yield { event: "next", data };
    } else if (!this.count.take()) {
      yield next({ data: null, errors: [tooManySubscriptions()], running: null });
    } else {
      yield* this.#subscription(request, prepared, signal, next);
    }
    yield { event: "complete", data: "" };
  }

  async *#subscription(
    request: Request,
    prepared: PreparedOperation,
    signal: AbortSignal,
    next: (result: TextResult) => SseEvent,
  ): AsyncIterableIterator<SseEvent> {
    const context = new GraphqlContext(request);
    let result: AsyncIterable<TextResult> | TextResult;
    try {
      result = await this.operations.subscribe(prepared, context);
    } catch (error) {
      result = failed(error);
    }
    if (!(Symbol.asyncIterator in result)) {
      this.count.release();
      yield next(result);
      return;
    }
    const source = new EventSource(result, (error) =>
      request.log.error("the source of a subscription failed to end", { error }),
    );
    const end = (): void => {
      source.end();
      context.abort();
    };
    this.#open.add(end);
    signal.addEventListener("abort", end);
    // A client that closes its side is known before the stream fails to be written.
    request.onAbort(end);
    if (this.#draining || signal.aborted) end();
    try {
      for (let item = await source.next(); item !== null; item = await source.next()) yield next(item.value);
    } catch (error) {
      yield next(failed(error));
    } finally {
      this.#open.delete(end);
      end();
      void source.closed.then(() => this.count.release());
    }
  }
}

/** The result of a subscription whose source failed. */
export function failed(error: unknown): TextResult {
  const message = error instanceof Error ? error.message : "the source of the subscription failed";
  const originalError = error instanceof Error ? error : new Error(String(error));
  return { data: null, errors: [new GraphQLError(message, { originalError })], running: null };
}

export function tooManySubscriptions(): GraphQLError {
  return new GraphQLError("Too many subscriptions.", {
    extensions: { code: "LIMIT_EXCEEDED", limit: "subscriptions" },
  });
}
