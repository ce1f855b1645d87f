import type { Request } from "../../http/request.js";
import { show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { SchemaOutput, StandardSchema } from "../../validation/standard-schema.js";
import type { BusMiddleware, BusServices, CommandResult, ExecuteOptions, QueryResult } from "./bus-options.js";
import type { Message } from "./message.js";

/** The options and the handler of a route. */
export type MessageRoute<Schema, Result> = Schema extends StandardSchema
  ? [
      options: { readonly body: Schema },
      handler: (request: Request, given: { readonly body: SchemaOutput<Schema> }) => Promise<Result>,
    ]
  : [options: object, handler: (request: Request) => Promise<Result>];

let execution: Promise<typeof import("./execution.js")> | undefined;

/** The code that runs messages. Applications without them do not load it. */
export function loadExecution(): Promise<typeof import("./execution.js")> {
  return (execution ??= import("./execution.js"));
}

/** Runs the handlers of messages of one kind: checked, in their time, again after a conflict. */
export class Bus<Kind extends "command" | "query"> {
  readonly #kind: Kind;
  readonly #services: BusServices;
  readonly #middleware: BusMiddleware[] = [];

  /** @internal */
  constructor(kind: Kind, services: BusServices) {
    this.#kind = kind;
    this.#services = services;
  }

  /** Adds middleware; the first one is the outermost. */
  use(middleware: BusMiddleware): this {
    if (typeof middleware !== "function") throw new ValueError(`use() takes a function, not ${show(middleware)}`);
    this.#middleware.push(middleware);
    return this;
  }

  /** Runs a command or a query. */
  async execute<Given, Result>(
    message: Message<Kind, Given, Result>,
    given: Given,
    options: ExecuteOptions = {},
  ): Promise<Kind extends "command" ? CommandResult<Result> : QueryResult<Result>> {
    if (message?.kind !== this.#kind) throw new ValueError(`this bus runs a message made by ${this.#kind}()`);
    const { Execution } = await loadExecution();
    return new Execution(this.#kind, this.#services, this.#middleware).execute(message, given, options) as never;
  }

  /**
   * The options and the handler of a route: `app.post("/orders", ...app.commands.route(placeOrder))`. The body is the input,
   * the header `Idempotency-Key` the key of a command, and the value the response.
   */
  route<Given, Result, Schema>(message: Message<Kind, Given, Result, Schema>): MessageRoute<Schema, Result> {
    const handler = async (request: Request, injected?: { readonly body?: unknown }): Promise<unknown> => {
      const idempotencyKey =
        this.#kind === "command" ? (request.headers.get("idempotency-key") ?? undefined) : undefined;
      const given = (message.schema === undefined ? undefined : injected?.body) as Given;
      const { value } = await this.execute(message, given, { signal: request.signal, idempotencyKey });
      return value;
    };
    return [message.schema === undefined ? {} : { body: message.schema }, handler] as never;
  }
}
