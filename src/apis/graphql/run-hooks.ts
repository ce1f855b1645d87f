import type { DocumentNode, GraphQLField, GraphQLFieldResolver, GraphQLSchema, ValidationRule } from "graphql";
import { ValueError } from "../../kit/value-error.js";
import type { TextResult } from "./execute/compile.js";
import type { HookedResolvers } from "./execute/plan.js";
import { defaultFieldResolver, type GraphQLError, isObjectType } from "./graphql-js.js";
import { type GraphqlHooks, GraphqlResult, type OperationCall, type ResolverCall, type ResolverHook } from "./hooks.js";
import { operationError } from "./internal-errors.js";

type Resolve = GraphQLFieldResolver<unknown, unknown>;

/** The functions of one step; the first is the outermost. */
function of<Step extends keyof GraphqlHooks>(hooks: readonly GraphqlHooks[], step: Step) {
  return hooks.flatMap((each) => (each[step] ? [each[step] as NonNullable<GraphqlHooks[Step]>] : []));
}

export function hookedParse(
  hooks: readonly GraphqlHooks[],
  parse: (text: string) => DocumentNode,
): (text: string) => DocumentNode {
  return of(hooks, "parse").reduceRight<typeof parse>((inner, hook) => {
    return (text) => {
      const document = taken(hook(text, (changed = text) => inner(changed)));
      if (document?.kind === "Document") return document as DocumentNode;
      throw new TypeError("the hook 'parse' must return a document, and no promise");
    };
  }, parse);
}

type Validate = (document: DocumentNode, rules: readonly ValidationRule[]) => readonly GraphQLError[];

export function hookedValidate(hooks: readonly GraphqlHooks[], validate: Validate): Validate {
  return of(hooks, "validate").reduceRight<Validate>((inner, hook) => {
    return (document, rules) => {
      const next = (more: readonly unknown[] = []) => inner(document, [...rules, ...(more as ValidationRule[])]);
      const errors = taken(hook(document, next));
      if (Array.isArray(errors)) return errors.map(operationError);
      throw new TypeError("the hook 'validate' must return a list of errors, and no promise");
    };
  }, validate);
}

/** The execution inside of its hooks; null without any. It never rejects. */
export function hookedExecute(
  hooks: readonly GraphqlHooks[],
): ((call: OperationCall, execute: () => TextResult | Promise<TextResult>) => Promise<TextResult>) | null {
  const all = of(hooks, "execute");
  if (all.length === 0) return null;
  return async (call, execute) => {
    /** Executions whose resolvers have not ended: a hook may have called `next()` twice, or not waited for it. */
    const running = new Set<Promise<unknown>>();
    const parts = new Map<GraphqlResult, NonNullable<TextResult["more"]>>();
    const run = async (): Promise<GraphqlResult> => {
      const result = await execute();
      if (result.running !== null) track(running, result.running);
      const made = GraphqlResult.executed(result.data ?? "null", result.errors);
      if (result.more) parts.set(made, result.more);
      return made;
    };
    const from = async (index: number): Promise<GraphqlResult> => {
      const hook = all[index];
      if (hook === undefined) return track(running, run());
      const result = await hook(call, () => taken(from(index + 1)));
      if (result instanceof GraphqlResult) return result;
      throw new TypeError("the hook 'execute' must return a GraphqlResult: that of next(), or a new one");
    };
    let result: Omit<TextResult, "running">;
    try {
      const made = await from(0);
      const more = parts.get(made);
      parts.delete(made);
      result = { ...written(made), ...(more && { more }) };
    } catch (error) {
      result = { data: null, errors: [operationError(error)] };
    }
    for (const unused of parts.values()) unused.end();
    return { ...result, running: running.size === 0 ? null : Promise.all(running).then(() => {}) };
  };
}

function track<T>(running: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  running.add(work);
  const end = (): void => void running.delete(work);
  work.then(end, end);
  return work;
}

function written({ dataText, errors, extensions }: GraphqlResult): Pick<TextResult, "data" | "errors" | "extensions"> {
  return {
    data: dataText,
    errors: errors?.length ? errors.map(operationError) : null,
    ...(Object.keys(extensions).length > 0 && { extensions: JSON.stringify(extensions) }),
  };
}

type Events = AsyncIterable<unknown>;

/** The start of a subscription inside of its hooks. Ending the events ends the source, too, whatever the hooks wait for. */
export async function hookedSubscribe(
  hooks: readonly GraphqlHooks[],
  call: OperationCall,
  subscribe: () => Promise<Events>,
): Promise<Events> {
  const all = of(hooks, "subscribe");
  if (all.length === 0) return subscribe();
  const sources: AsyncIterator<unknown>[] = [];
  let ended = false;
  const start = async (): Promise<Events> => {
    const source = (await subscribe())[Symbol.asyncIterator]();
    sources.push(source);
    if (ended) await source.return?.();
    return iterable(source);
  };
  const from = async (index: number): Promise<Events> => {
    const hook = all[index];
    if (hook === undefined) return start();
    const events: unknown = await hook(call, () => taken(from(index + 1)));
    if (typeof events === "object" && events !== null && Symbol.asyncIterator in events) return events as Events;
    throw new TypeError("the hook 'subscribe' must return an async iterable: return next(), or wrap its events");
  };
  const end = (): Promise<unknown> => {
    ended = true;
    return Promise.all(sources.map((source) => source.return?.()));
  };
  let events: AsyncIterator<unknown>;
  try {
    events = (await from(0))[Symbol.asyncIterator]();
  } catch (error) {
    await end();
    throw error;
  }
  return iterable({
    next: () => events.next(),
    async return() {
      await Promise.all([end(), events.return?.()]);
      return { done: true, value: undefined };
    },
  });
}

function iterable(iterator: AsyncIterator<unknown>): Events {
  return { [Symbol.asyncIterator]: () => iterator };
}

/** The resolvers of a schema that hooks are compiled into; null without any. The schema itself stays as it is. */
export function hookedResolvers(hooks: readonly GraphqlHooks[], schema: GraphQLSchema): HookedResolvers | null {
  const all = of(hooks, "resolve");
  if (all.length === 0) return null;
  const resolvers = new Map<GraphQLField<unknown, unknown>, Resolve>();
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields())) {
      const { name, extensions, resolve } = field;
      const found = all.flatMap((choose) => {
        const hook = choose({ type: type.name, name, hasResolver: resolve !== undefined, extensions });
        if (typeof hook === "function") return [hook];
        if (hook === null || hook === undefined) return [];
        throw new ValueError(`the hook 'resolve' must return a function or nothing for ${type.name}.${name}`);
      });
      if (found.length > 0) resolvers.set(field, found.reduceRight(hooked, resolve ?? defaultFieldResolver));
    }
  }
  return resolvers;
}

function hooked(inner: Resolve, hook: ResolverHook): Resolve {
  return (parent, args, context, info) =>
    hook({ parent, args, context: context as ResolverCall["context"], info }, () =>
      taken(inner(parent, args, context, info)),
    );
}

/** A promise that a hook gets, or returns by mistake. If the hook throws, no code handles it: a rejection would end the process. */
function taken<T>(value: T): T {
  if (value instanceof Promise) value.catch(() => {});
  return value;
}
