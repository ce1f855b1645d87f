import type { GraphQLFormattedError, GraphQLSchema } from "graphql";
import { isInstance } from "../../errors/describe.js";
import { HttpError } from "../../errors/http-error.js";
import { isAbortOf } from "../../http/aborted.js";
import type { Request } from "../../http/request.js";
import { within } from "../../kit/time/within.js";
import { limitError } from "./check-document.js";
import type { GraphQLConfig } from "./config.js";
import type { GraphqlContext } from "./context.js";
import { Documents, ReadyDocument, type ReadyOperation } from "./documents.js";
import type { TextResult } from "./execute/compile.js";
import { createSourceEventStream, GraphQLError } from "./graphql-js.js";
import { isInternal } from "./internal-errors.js";
import type { OperationMonitor } from "./monitor.js";
import { type OperationParameters, Refusal } from "./parameters.js";
import { Persisted } from "./persisted.js";
import { hookedExecute, hookedSubscribe } from "./run-hooks.js";
import { readVariables } from "./variables.js";

/** An operation with its variables, ready to be executed. */
export interface PreparedOperation {
  readonly kind: "query" | "mutation" | "subscription";
  readonly operation: ReadyOperation;
  readonly variables: Record<string, unknown>;
  readonly raw: OperationParameters;
}

export interface OperationSettings {
  readonly config: GraphQLConfig;
  readonly introspection: boolean;
  readonly maskErrors: boolean;
}

/** Prepares and executes operations, whatever protocol they came by. */
export class Operations {
  readonly schema: GraphQLSchema;
  readonly documents: Documents;
  /** Null where neither metrics nor telemetry are enabled. */
  monitor: OperationMonitor | null = null;
  readonly #settings: OperationSettings;
  readonly #persisted: Persisted;
  /** Parts that an execution may leave for later. */
  readonly #maxParts: number;
  /** Null without hooks. */
  readonly #hooks: ReturnType<typeof hookedExecute>;
  /** Executions with resolvers that have not ended, also those that no response waits for. */
  #running = 0;
  #onIdle: (() => void) | null = null;

  constructor(schema: GraphQLSchema, settings: OperationSettings) {
    const { limits, cacheSize, persisted, hooks, incremental } = settings.config;
    this.schema = schema;
    this.#settings = settings;
    this.#persisted = new Persisted(persisted, limits.characters);
    this.documents = new Documents(schema, {
      limits,
      cacheSize,
      hooks,
      incremental,
      introspection: settings.introspection,
    });
    this.#maxParts = incremental ? limits.deferred || Infinity : 0;
    this.#hooks = hookedExecute(hooks);
  }

  /** Finds, parses and checks an operation. A promise only where a persisted one is looked up. */
  prepare(parameters: OperationParameters): PreparedOperation | Refusal | Promise<PreparedOperation | Refusal> {
    const text = this.#persisted.textOf(parameters);
    if (typeof text === "string") return this.#noted(this.#prepare(text, parameters));
    if (text instanceof Refusal) return this.#noted(text);
    return text.then((found) => this.#noted(found instanceof Refusal ? found : this.#prepare(found, parameters)));
  }

  /** `inParts`: the client takes the parts of the result that are deferred. */
  execute(
    { operation, variables }: PreparedOperation,
    context: GraphqlContext,
    inParts = false,
  ): TextResult | Promise<TextResult> {
    return this.#execute(operation, variables, context, undefined, inParts ? this.#maxParts : 0);
  }

  /**
   * The texts of a result and of its parts, each when the one before was taken. They end with the signal of the context.
   * `onLeft` gets a promise for the end of the resolvers that still run.
   */
  payloads(
    result: TextResult,
    context: GraphqlContext,
    onLeft: (running: Promise<void>) => void,
  ): AsyncGenerator<string, void, undefined> {
    const { more } = result;
    const end = (): void => more?.end();
    if (more) context.signal.addEventListener("abort", end);
    if (more === undefined && result.running !== null) context.abort();
    return this.#payloads(result, context, end, onLeft);
  }

  async *#payloads(
    result: TextResult,
    context: GraphqlContext,
    end: () => void,
    onLeft: (running: Promise<void>) => void,
  ): AsyncGenerator<string, void, undefined> {
    const { request } = context;
    const { more } = result;
    const errorsText = (errors: readonly GraphQLError[]): string => this.errorsText(errors, request);
    try {
      yield this.textOf(result, request);
      if (more === undefined) return;
      for (let text = await more.next(errorsText); text !== null; text = await more.next(errorsText)) yield text;
    } finally {
      end();
      const left = [result.running, more?.running ?? null].filter((each) => each !== null);
      if (left.length > 0) {
        context.abort();
        const running = Promise.all(left).then(() => {});
        if (more?.running) void this.#count({ ...result, running });
        onLeft(running);
      }
    }
  }

  #execute(
    operation: ReadyOperation,
    variables: Record<string, unknown>,
    context: GraphqlContext,
    event: unknown,
    maxParts = 0,
  ): TextResult | Promise<TextResult> {
    const result =
      this.monitor === null
        ? this.#run(operation, variables, context, event, maxParts)
        : this.monitor.measure(operation, () => this.#run(operation, variables, context, event, maxParts));
    if (result instanceof Promise || result.running !== null) void this.#count(result);
    return result;
  }

  #run(
    operation: ReadyOperation,
    variables: Record<string, unknown>,
    context: GraphqlContext,
    event: unknown,
    maxParts: number,
  ): TextResult | Promise<TextResult> {
    if (this.#hooks === null) return operation.compiled.execute(variables, context, event, maxParts);
    const { type, name, document } = operation;
    const execute = () => operation.compiled.execute(variables, context, event, maxParts);
    return this.#hooks({ type, name, document, variables, context }, execute);
  }

  async #count(result: TextResult | Promise<TextResult>): Promise<void> {
    this.#running++;
    await (await result).running;
    if (--this.#running === 0) this.#onIdle?.();
  }

  /** Resolves when all resolvers have ended, or after so many milliseconds: with the number of operations that still run. */
  async settled(milliseconds: number): Promise<number> {
    if (this.#running > 0) await within(new Promise<void>((resolve) => (this.#onIdle = resolve)), milliseconds);
    return this.#running;
  }

  #noted(prepared: PreparedOperation | Refusal): PreparedOperation | Refusal {
    if (prepared instanceof Refusal) this.monitor?.refused();
    return prepared;
  }

  /** The events of a subscription, or the result that says why there are none. Rejects with errors of the source. */
  async subscribe(
    { operation, raw, variables }: PreparedOperation,
    context: GraphqlContext,
  ): Promise<AsyncIterable<TextResult> | TextResult> {
    const { type, name, document } = operation;
    const start = async (): Promise<AsyncIterable<unknown>> => {
      const source = await createSourceEventStream({
        schema: this.schema,
        document,
        operationName: raw.operationName || null,
        variableValues: raw.variables,
        contextValue: context,
      });
      if (Symbol.asyncIterator in source) return source;
      throw new SourceErrors(source.errors ?? []);
    };
    let source: AsyncIterable<unknown>;
    try {
      const call = { type, name, document, variables, context };
      source = await hookedSubscribe(this.#settings.config.hooks, call, start);
    } catch (error) {
      if (error instanceof SourceErrors) return { data: null, errors: error.errors, running: null };
      throw error;
    }
    return mapped(source, (event) => {
      context.forgetLoaded();
      return this.#execute(operation, variables, context, event);
    });
  }

  /** The JSON of a result. */
  textOf({ data, errors, extensions, more }: TextResult, request: Request): string {
    const end = `${extensions === undefined ? "" : `,"extensions":${extensions}`}${more === undefined ? "" : more.first}}`;
    if (errors === null) return `{"data":${data}${end}`;
    return `{"errors":${this.errorsText(errors, request)},"data":${data}${end}`;
  }

  /**
   * The JSON of a result for the response of the request. The scoped values of the request are disposed after the resolvers
   * that an error did not wait for.
   */
  responseText(result: TextResult, request: Request): string {
    if (result.running !== null) holdUntil(request, result.running);
    return this.textOf(result, request);
  }

  /** The JSON of the errors alone: a list. */
  errorsText(errors: readonly GraphQLError[], request: Request): string {
    return JSON.stringify(formatErrors(errors, request, this.#settings.maskErrors));
  }

  #prepare(text: string, parameters: OperationParameters): PreparedOperation | Refusal {
    const document = this.documents.prepare(text);
    if (!(document instanceof ReadyDocument)) return new Refusal(document);
    const operation = document.find(parameters.operationName);
    if (operation instanceof GraphQLError) return new Refusal([operation]);
    const definition = operation.compiled.operation;
    let variables: Record<string, unknown> = noVariables;
    if (definition.variableDefinitions?.length) {
      const { variableDefinitions } = definition;
      const { introspection } = this.#settings;
      const read = readVariables(this.schema, variableDefinitions, parameters.variables ?? {}, !introspection);
      if ("errors" in read) return new Refusal(read.errors);
      ({ variables } = read);
    }
    const { complexity } = this.#settings.config.limits;
    if (complexity > 0 && operation.complexity.exceeds(complexity, variables)) {
      return new Refusal([limitError(`The operation is more complex than ${complexity}.`, "complexity")]);
    }
    return { kind: definition.operation, operation, variables, raw: parameters };
  }
}

/** Keeps the scoped values of a request until its last resolvers have ended. */
export function holdUntil(request: Request, running: Promise<void>): void {
  request.hold();
  void running.then(() => request.finish());
}

/** The errors of a subscription that has no source, on the way through its hooks. */
class SourceErrors extends Error {
  constructor(readonly errors: readonly GraphQLError[]) {
    super(errors[0]?.message);
  }
}

const noVariables: Record<string, unknown> = Object.freeze({});

/** Executes the operation for each event. Its `return` ends the source, also while an event is awaited. */
function mapped(
  source: AsyncIterable<unknown>,
  execute: (event: unknown) => TextResult | Promise<TextResult>,
): AsyncIterable<TextResult> & AsyncIterator<TextResult> {
  const iterator = source[Symbol.asyncIterator]();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const { done, value } = await iterator.next();
      return done ? { done: true, value: undefined } : { done: false, value: await execute(value) };
    },
    async return() {
      await iterator.return?.();
      return { done: true, value: undefined };
    },
  };
}

/**
 * The errors of a response as clients see them. Errors that the application threw for clients keep their messages:
 * `GraphQLError`, and `HttpError` with a status below 500, such as those of guards. Any other error is logged, and its
 * message is hidden if `mask` is true.
 */
function formatErrors(
  errors: readonly GraphQLError[],
  request: Request,
  mask: boolean,
): readonly GraphQLFormattedError[] {
  return errors.map((error) => {
    const cause = rootOf(error);
    if (isInstance(cause, HttpError) && cause.status < 500) {
      const extensions = { ...cause.extensions, code: cause.code, status: cause.status };
      return { ...placeOf(error), message: cause.message, extensions };
    }
    if (cause === undefined || (cause instanceof GraphQLError && !isInternal(cause))) return error.toJSON();
    if (!isAbortOf(request, cause)) {
      request.log.error("a resolver failed", { error: cause, field: error.path?.join(".") });
    }
    const extensions = { code: "INTERNAL_SERVER_ERROR", status: 500 };
    return { ...placeOf(error), message: mask ? "Internal Server Error" : error.message, extensions };
  });
}

/** The error that was thrown; undefined for an error of the document, which has none below it. */
function rootOf(error: GraphQLError): unknown {
  if (isInternal(error)) return error;
  let cause: unknown = error.originalError;
  while (cause instanceof GraphQLError && cause.originalError && !isInternal(cause)) cause = cause.originalError;
  return cause;
}

function placeOf({ path, locations }: GraphQLError): Pick<GraphQLFormattedError, "path" | "locations"> {
  return { ...(locations && { locations }), ...(path && { path }) };
}
