import { HttpError } from "../../errors/http-error.js";
import type { Request } from "../../http/request.js";
import { decorating } from "../../kit/decorating.js";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { SchemaOutput, StandardSchema } from "../../validation/standard-schema.js";
import {
  type BusMiddleware,
  type BusServices,
  type CommandResult,
  type ExecuteOptions,
  executeOptions,
  type QueryResult,
} from "./bus-options.js";
import { longestKey } from "./config.js";
import type { Execution } from "./execution.js";
import type { Message, MessageContext, MessageHandler } from "./message.js";

/** The options and the handler of a route: a command reads the body, a query the query string. */
export type MessageRoute<Kind extends "command" | "query", Schema, Result> = Schema extends StandardSchema
  ? Kind extends "command"
    ? [
        options: { readonly body: Schema; readonly responses: MessageResponses },
        handler: (request: Request, given: { readonly body: SchemaOutput<Schema> }) => Promise<Result>,
      ]
    : [
        options: { readonly query: Schema; readonly responses: MessageResponses },
        handler: (request: Request, given: { readonly query: SchemaOutput<Schema> }) => Promise<Result>,
      ]
  : [options: { readonly responses: MessageResponses }, handler: (request: Request) => Promise<Result>];

/** The descriptions of the responses that a bus adds, for routes that describe further ones. */
type MessageResponses = Readonly<Record<number, string>>;

/** The handler of a message: it receives what the schema has made of the input. */
type HandlerOf<Given, Result, Schema> = (
  input: Schema extends StandardSchema ? SchemaOutput<Schema> : Given,
  context: MessageContext,
) => Result | Promise<Result>;

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
  readonly #handlers = new Map<unknown, MessageHandler>();
  #execution: Execution | null = null;

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

  /**
   * Registers the handler of a message that was declared without one: `handler(ship, fn)`, or as a decorator of a method,
   * `@app.commands.handler(ship)`. The method is registered when its class is instantiated.
   */
  handler<Given, Result, Schema>(
    message: Message<Kind, Given, Result, Schema>,
  ): <Handler extends HandlerOf<Given, Result, Schema>>(
    handler: Handler,
    context?: ClassMethodDecoratorContext,
  ) => Handler | undefined;
  handler<Given, Result, Schema>(
    message: Message<Kind, Given, Result, Schema>,
    handler: HandlerOf<Given, Result, Schema>,
  ): this;
  handler(message: Message<Kind, unknown, unknown>, handler?: MessageHandler): unknown {
    this.#check(message);
    const add = (given: MessageHandler): void => {
      if (typeof given !== "function") throw new ValueError(`handler() takes a function, not ${show(given)}`);
      if (message.handler !== undefined || this.#handlers.has(message)) {
        throw new ValueError(`the ${this.#kind} ${show(message.name)} has a handler already`);
      }
      this.#handlers.set(message, given);
    };
    if (handler === undefined) return decorating<MessageHandler>(add);
    add(handler);
    return this;
  }

  /** Runs a command or a query. */
  execute<Given, Result>(
    message: Message<Kind, Given, Result>,
    given: Given,
    options: ExecuteOptions = {},
  ): Promise<Kind extends "command" ? CommandResult<Result> : QueryResult<Result>> {
    return this.#execute(message, given, options, false) as never;
  }

  /**
   * The options and the handler of a route: `app.post("/orders", ...app.commands.route(placeOrder))`. The input is the body
   * of a command and the query string of a query, the header `Idempotency-Key` the key of a command, the value the response.
   */
  route<Given, Result, Schema>(message: Message<Kind, Given, Result, Schema>): MessageRoute<Kind, Schema, Result> {
    this.#check(message);
    const { schema, result: response } = message;
    const part = this.#kind === "command" ? "body" : "query";
    const handler = async (request: Request, injected?: Readonly<Record<string, unknown>>): Promise<unknown> => {
      const idempotencyKey = this.#kind === "command" ? this.#keyOf(request) : undefined;
      const given = schema === undefined ? undefined : injected?.[part];
      // The route has checked the input. A schema that changes it must not be applied to its own result.
      const { value } = await this.#execute(message, given, { signal: request.signal, idempotencyKey }, true);
      return value;
    };
    return [
      {
        ...(schema !== undefined && { [part]: schema }),
        ...(response !== undefined && { response }),
        ...routeDocumentation(this.#kind, () => this.#services.hasDatabase()),
      },
      handler,
    ] as never;
  }

  #execute(
    message: Message<Kind, unknown, unknown>,
    given: unknown,
    how: ExecuteOptions,
    checked: boolean,
  ): Promise<QueryResult<unknown>> {
    try {
      const options = checked ? how : executeOptions.read([how]);
      this.#check(message);
      const handler = message.handler ?? this.#handlers.get(message);
      if (handler === undefined) {
        throw new Error(`the ${this.#kind} ${show(message.name)} has no handler: call handler() of the bus`);
      }
      if (this.#execution !== null) return this.#execution.execute(message, handler, given, options, checked);
      return loadExecution().then(({ Execution }) => {
        this.#execution ??= new Execution(this.#kind, this.#services, this.#middleware);
        return this.#execution.execute(message, handler, given, options, checked);
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The key that a client gives its command. One that cannot be kept is refused: the client relies on it. */
  #keyOf(request: Request): string | undefined {
    const key = request.headers.get("idempotency-key") ?? undefined;
    if (key === undefined) return undefined;
    if (key === "" || key.length > longestKey) {
      throw new HttpError(400, `The header Idempotency-Key must have 1 to ${longestKey} characters.`);
    }
    if (this.#services.keys() === null) throw new HttpError(400, "Idempotency-Key is not supported here.");
    return key;
  }

  #check(message: { readonly kind: string } | undefined): void {
    if (message?.kind !== this.#kind) throw new ValueError(`this bus runs a message made by ${this.#kind}()`);
  }
}

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A key that the client chooses for this command, such as a random UUID. Requests with the same key and input have their " +
    "effect once, and the response of the first one is sent again.",
  required: false,
  schema: { type: "string", minLength: 1, maxLength: longestKey },
};

const timedOut = (kind: string): string => `The ${kind} did not end in its time.`;

/** The options of a route that document it: the header of a command, and the responses beside those that every route has. */
function routeDocumentation(kind: "command" | "query", takesKeys: () => boolean): object {
  if (kind === "query") return { responses: { 504: timedOut(kind) } };
  return {
    // Read when the document is made: the database may be enabled after the route is.
    openapi: {
      get parameters() {
        return takesKeys() ? [idempotencyKey] : [];
      },
    },
    responses: {
      400: "The body is not JSON, or the Idempotency-Key cannot be used.",
      409: "A command with the same Idempotency-Key is running, or had another input.",
      504: timedOut(kind),
    },
  };
}
