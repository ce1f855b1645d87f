import type { Request } from "../../../http/request.js";
import type { WebSocket } from "../../../websocket/socket.js";
import { GraphqlContext, OperationEnd } from "../context.js";
import type { TextResult } from "../execute/compile.js";
import type { Operations, PreparedOperation } from "../operations.js";
import { Refusal, readParameters } from "../parameters.js";
import { EventSource } from "./event-source.js";
import { failed, tooManySubscriptions } from "./event-streams.js";
import { type ClientMessage, readMessage } from "./messages.js";
import { operationRequest } from "./operation-request.js";
import type { SubscriptionSettings } from "./options.js";
import { SendWatch } from "./send-watch.js";
import type { SubscriptionCount } from "./subscription-count.js";

export const subprotocol = "graphql-transport-ws";

/** The close codes of the protocol. */
const codes = {
  badRequest: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  badSubprotocol: 4406,
  initTimeout: 4408,
  alreadyExists: 4409,
  tooManyRequests: 4429,
} as const;

export interface ConnectionParts {
  readonly operations: Operations;
  readonly settings: SubscriptionSettings;
  readonly count: SubscriptionCount;
}

/** One WebSocket that speaks graphql-transport-ws. */
export class Connection {
  readonly #socket: WebSocket;
  readonly #parts: ConnectionParts;
  /** The operations that run, by the client's id. The function ends one. */
  readonly #running = new Map<string, () => void>();
  /** Operations whose resolvers and sources have not ended, also those that the client has completed. */
  #places = 0;
  readonly #sends: SendWatch;
  #acknowledged = false;

  constructor(socket: WebSocket, parts: ConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#sends = new SendWatch(parts.settings.sendTimeout * 1000, () =>
      socket.terminate("the client does not take what it is sent"),
    );
  }

  /** Handles messages until the connection ends. */
  async run(): Promise<void> {
    const socket = this.#socket;
    if (socket.protocol !== subprotocol) return this.#close(codes.badSubprotocol, "Subprotocol not acceptable");
    socket.endedCode = codes.unauthorized;
    socket.request.onAbort(() => this.#endAll());
    const { initTimeout } = this.#parts.settings;
    const timer = setTimeout(() => {
      if (!this.#acknowledged) void this.#close(codes.initTimeout, "Connection initialisation timeout");
    }, initTimeout * 1000);
    timer.unref();
    try {
      let initialised = false;
      for await (const received of socket) {
        const message = readMessage(received);
        if (message === null) return await this.#close(codes.badRequest, "Invalid message");
        if (message.type === "connection_init") {
          if (initialised) return await this.#close(codes.tooManyRequests, "Too many initialisation requests");
          initialised = true;
          if (!(await this.#initialise(message.payload))) return await this.#close(codes.forbidden, "Forbidden");
          this.#acknowledged = true;
          await this.#send({ type: "connection_ack" });
        } else if (!(await this.#handle(message))) return;
      }
    } finally {
      clearTimeout(timer);
      this.#sends.end();
      this.#endAll();
    }
  }

  #endAll(): void {
    for (const end of this.#running.values()) end();
    this.#running.clear();
  }

  async #initialise(payload: Readonly<Record<string, unknown>>): Promise<boolean> {
    const { onConnect } = this.#parts.settings;
    if (!onConnect) return true;
    const { request } = this.#socket;
    try {
      const result = await onConnect(payload, request as Request);
      if (typeof result === "object" && result !== null) Object.assign(request.context, result);
      // A function that returns nothing has not let the client in.
      return result === true || (typeof result === "object" && result !== null);
    } catch (error) {
      request.log.warn("onConnect refused a WebSocket", { error });
      return false;
    }
  }

  /** False if the connection has been closed. */
  async #handle(message: Exclude<ClientMessage, { type: "connection_init" }>): Promise<boolean> {
    switch (message.type) {
      case "ping":
        await this.#send({ type: "pong", ...(message.payload !== undefined && { payload: message.payload }) });
        return true;
      case "pong":
        return true;
      case "complete":
        this.#running.get(message.id)?.();
        this.#running.delete(message.id);
        return true;
      case "subscribe":
        return this.#subscribe(message.id, message.payload);
    }
  }

  async #subscribe(id: string, payload: unknown): Promise<boolean> {
    if (!this.#acknowledged) {
      await this.#close(codes.unauthorized, "Unauthorized");
      return false;
    }
    if (this.#running.has(id)) {
      await this.#close(codes.alreadyExists, `Subscriber for ${id} already exists`.slice(0, 120));
      return false;
    }
    if (this.#places >= this.#parts.settings.maxPerConnection) {
      await this.#close(codes.tooManyRequests, "Too many operations");
      return false;
    }
    const operation = new RunningOperation();
    this.#running.set(id, () => operation.end());
    this.#places++;
    void this.#operate(id, payload, operation)
      .catch((error: unknown) => {
        if (this.#socket.isOpen) this.#socket.request.log.error("an operation of a WebSocket failed", { error });
      })
      .finally(() => {
        this.#places--;
        if (this.#running.get(id) !== undefined && operation.current) this.#running.delete(id);
        operation.current = false;
      });
    return true;
  }

  async #operate(id: string, payload: unknown, operation: RunningOperation): Promise<void> {
    const { operations } = this.#parts;
    const { request, finish } = operationRequest(this.#socket.request as Request);
    try {
      const parameters = readParameters(payload);
      const prepared = parameters instanceof Refusal ? parameters : await operations.prepare(parameters);
      if (prepared instanceof Refusal) return await this.#error(id, prepared.errors, request, operation);
      request.logFields = prepared.operation.logFields;
      const context = new GraphqlContext(request, operation);
      if (prepared.kind === "subscription") return await this.#stream(id, prepared, context, operation);
      const result = await operations.execute(prepared, context, true);
      let left: Promise<void> | null = null;
      const payloads = operations.payloads(result, context, (running) => (left = running));
      for await (const payload of payloads) await this.#payload(id, payload, operation);
      await this.#complete(id, operation);
      await left;
    } catch (error) {
      // A persisted operation that cannot be looked up, for example. A client that has disconnected needs no response.
      if (this.#socket.isOpen) await this.#error(id, failed(error).errors ?? [], request, operation);
    } finally {
      await finish();
    }
  }

  async #stream(
    id: string,
    prepared: PreparedOperation,
    context: GraphqlContext,
    operation: RunningOperation,
  ): Promise<void> {
    const { operations, count } = this.#parts;
    const { request } = context;
    if (!count.take()) return this.#error(id, [tooManySubscriptions()], request, operation);
    let source: EventSource<TextResult> | null = null;
    try {
      let result: AsyncIterable<TextResult> | TextResult;
      try {
        result = await operations.subscribe(prepared, context);
      } catch (error) {
        result = failed(error);
      }
      if (!(Symbol.asyncIterator in result)) return await this.#error(id, result.errors ?? [], request, operation);
      const events = new EventSource(result, (error) =>
        request.log.error("the source of a subscription failed to end", { error }),
      );
      source = events;
      operation.onEnd(() => events.end());
      try {
        for (let item = await events.next(); item !== null; item = await events.next()) {
          // Awaited: a source is asked for its next event when the client has taken this one.
          await this.#next(id, item.value, request, operation);
        }
      } catch (error) {
        if (this.#socket.isOpen) return await this.#error(id, failed(error).errors ?? [], request, operation);
      } finally {
        events.end();
        operation.abort();
      }
      await this.#complete(id, operation);
    } finally {
      await source?.closed;
      count.release();
    }
  }

  #next(id: string, result: TextResult, request: Request, operation: RunningOperation): Promise<void> | undefined {
    return operation.ended ? undefined : this.#payload(id, this.#parts.operations.textOf(result, request), operation);
  }

  #payload(id: string, payload: string, { ended }: RunningOperation): Promise<void> | undefined {
    if (ended) return undefined;
    return this.#sends.watch(this.#socket.sendText(`{"id":${JSON.stringify(id)},"type":"next","payload":${payload}}`));
  }

  #error(
    id: string,
    errors: TextResult["errors"] & object,
    request: Request,
    operation: RunningOperation,
  ): Promise<void> | undefined {
    if (operation.ended) return undefined;
    this.#forget(id, operation);
    const payload = this.#parts.operations.errorsText(errors, request);
    return this.#sends.watch(this.#socket.sendText(`{"id":${JSON.stringify(id)},"type":"error","payload":${payload}}`));
  }

  #complete(id: string, operation: RunningOperation): Promise<void> | undefined {
    if (operation.ended) return undefined;
    this.#forget(id, operation);
    return this.#send({ id, type: "complete" });
  }

  /** The id is free again when the client learns of the end. */
  #forget(id: string, operation: RunningOperation): void {
    if (operation.current) this.#running.delete(id);
    operation.current = false;
  }

  #send(message: object): Promise<void> {
    return this.#sends.watch(this.#socket.sendJson(message));
  }

  async #close(code: number, reason: string): Promise<void> {
    await this.#socket.close(code, reason);
  }
}

/** An operation that can be ended by the client or by the end of the connection. */
class RunningOperation extends OperationEnd {
  ended = false;
  /** True while its id belongs to it. */
  current = true;
  #end: (() => void) | null = null;

  constructor() {
    super(null);
  }

  end(): void {
    this.ended = true;
    this.current = false;
    this.#end?.();
    this.abort();
  }

  onEnd(callback: () => void): void {
    this.#end = callback;
    if (this.ended) callback();
  }
}
