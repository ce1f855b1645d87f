import { HttpError } from "../../errors/http-error.js";
import { options as declare, option } from "../../kit/config.js";
import { type Check, is, show } from "../../kit/options.js";
import type { Duration } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import {
  isStandardSchema,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from "../../validation/standard-schema.js";

/** A command or a query did not end in its time. Its result, if one comes later, is discarded. Unhandled, it is a 504. */
export class CommandTimeout extends HttpError {
  constructor(name: string, milliseconds: number) {
    super(504, `${name} did not end within ${milliseconds} ms`);
  }
}

/** A command with the same idempotency key is running, or had another input. Unhandled, it is a 409. */
export class IdempotencyError extends HttpError {
  constructor(detail: string) {
    super(409, detail);
  }
}

export interface MessageContext {
  readonly name: string;
  /** Aborted when the time is over, or with the caller's signal. */
  readonly signal: AbortSignal;
  /** 1 for the first run. */
  readonly attempt: number;
}

/** The options of a query. */
export interface QueryOptions<Schema = unknown, Input = never, Result = unknown, ResultSchema = unknown> {
  /** Checks the input. */
  readonly schema?: Schema | undefined;
  /** The type of the result; it is documented in the API, and not checked. */
  readonly result?: ResultSchema | undefined;
  /** Time that it may take, in place of the config's `commandTimeoutMs`. */
  readonly timeoutMs?: Duration | undefined;
  /** Runs after the first one, in place of the config's `retries`. */
  readonly retries?: number | undefined;
  /** Left out if it is registered with the bus. */
  handler?(input: Input, context: MessageContext): Result | Promise<Result>;
}

/** The options of a command. */
export interface CommandOptions<Schema = unknown, Input = never, Result = unknown, ResultSchema = unknown>
  extends QueryOptions<Schema, Input, Result, ResultSchema> {
  /** The projections that `enableEventSync` waits for. Default: all that this process keeps. */
  readonly affects?: readonly { readonly name: string; readonly tables: readonly string[] }[] | undefined;
}

/** A handler, whatever its input. */
export type MessageHandler = (input: never, context: MessageContext) => unknown;

/** A command or a query: its name, the check of its input, and its handler. */
export interface Message<Kind extends "command" | "query", Given, Result, Schema = unknown> {
  readonly kind: Kind;
  readonly name: string;
  readonly schema: Schema;
  readonly result: StandardSchema | undefined;
  readonly timeoutMs: number | undefined;
  readonly retries: number | undefined;
  readonly affects: CommandOptions["affects"];
  /** Undefined if it is registered with the bus. */
  readonly handler: MessageHandler | undefined;
  /** The types of its input and result, for the compiler alone. */
  readonly types?: { readonly given: Given; readonly result: Result };
}

export type Command<Given, Result, Schema = unknown> = Message<"command", Given, Result, Schema>;
export type Query<Given, Result, Schema = unknown> = Message<"query", Given, Result, Schema>;

type InputOf<Schema, Input> = Schema extends StandardSchema ? SchemaOutput<Schema> : Input;
type GivenOf<Schema, Input> = Schema extends StandardSchema ? SchemaInput<Schema> : Input;

type OptionsOf<Kind, Schema, Input, Result, ResultSchema> = Kind extends "command"
  ? CommandOptions<Schema, Input, Result, ResultSchema>
  : QueryOptions<Schema, Input, Result, ResultSchema>;

/** Declares messages of one kind. The result has the type that the handler returns; without one, that of `result`. */
type Declare<Kind extends "command" | "query"> = <
  Schema extends StandardSchema | undefined = undefined,
  ResultSchema extends StandardSchema | undefined = undefined,
  Input = unknown,
  Result = InputOf<ResultSchema, unknown>,
>(
  name: string,
  options?: OptionsOf<Kind, Schema, InputOf<Schema, Input>, Result, ResultSchema>,
) => Message<Kind, GivenOf<Schema, Input>, Awaited<Result>, Schema>;

/** Declares a command: a request to change something. Without a handler, `app.commands.handler()` adds one. */
export const command: Declare<"command"> = (name, options) => message("command", name, options);

/** Declares a query: a question that changes nothing. Without a handler, `app.queries.handler()` adds one. */
export const query: Declare<"query"> = (name, options) => message("query", name, options);

const isSchema: Check<StandardSchema> = (value) => (isStandardSchema(value) ? undefined : "a schema");

const messageOptions = declare("command()", {
  schema: option(isSchema),
  result: option(isSchema),
  timeoutMs: option.milliseconds(null, 1, "24d"),
  retries: option(is.integer(0, 1000)),
  affects: option<NonNullable<CommandOptions["affects"]>>(is.list(is.object)),
  handler: option<MessageHandler>(is.function),
});

function message<Kind extends "command" | "query", Given, Result, Schema>(
  kind: Kind,
  name: string,
  options: object = {},
): Message<Kind, Given, Result, Schema> {
  if (typeof name !== "string" || !/^[\w.:-]{1,100}$/.test(name)) {
    throw new ValueError(
      `the name of a ${kind} must have 1 to 100 letters, digits, dots, colons and hyphens, not ${show(name)}`,
    );
  }
  const settings = messageOptions.read([options], `${kind} ${show(name)}`);
  return { kind, name, ...settings, schema: settings.schema as Schema };
}
