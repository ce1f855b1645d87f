import { options as declare, option } from "../../kit/config.js";
import { is, isPlainObject, show } from "../../kit/options.js";
import type { SagaContext } from "./steps.js";

type Context = SagaContext<never, never>;

/** A saga to begin as a child of another one. */
export interface ChildToBegin<Definition> {
  /** Behind the name of the part in its id; null if the part has one child alone. */
  readonly key: string | null;
  readonly definition: Definition;
  readonly input: unknown;
}

/** The results of a child that has completed. */
export interface ChildResult {
  readonly key: string | null;
  readonly results: unknown;
}

/** A part of a saga that runs other sagas. All of its forms begin children, wait for their ends, and undo them. */
export interface Children<Definition> {
  readonly form: "child" | "choose" | "each" | "repeat";
  readonly definitions: readonly Definition[];
  /** The children that begin at the same time, at first. */
  begin(context: Context): readonly ChildToBegin<Definition>[];
  /** The child of the next round, after one with these results; null if that was the last one. */
  next?(context: Context, last: unknown, rounds: number): ChildToBegin<Definition> | null;
  resultOf(children: readonly ChildResult[]): unknown;
}

/** Children of one part. Their parent looks at all of them. */
const mostChildren = 1000;

/** The round of a loop, beside the values of the execution. */
export interface Round<Input, Results, Last> extends SagaContext<Input, Results> {
  /** 1 for the first round. */
  readonly round: number;
  /** The results of the round before. */
  readonly last: Last;
}

export interface LoopOptions<Input, Results, ChildResults, ChildGiven> {
  /** The input of a round. `last` is null for the first one. */
  input(context: Round<Input, Results, ChildResults | null>): ChildGiven;
  /** True ends the loop after the round with these results. */
  until(context: Round<Input, Results, ChildResults>): boolean;
  /** Rounds after which the saga is compensated. Default 100, at most 1000. */
  readonly limit?: number | undefined;
}

const loopOptions = declare("repeat()", {
  input: option.required<(context: never) => unknown>(is.function),
  until: option.required<(context: never) => unknown>(is.function),
  limit: option(is.integer(1, mostChildren), 100),
});

export function one<Definition>(definition: Definition, input: (context: Context) => unknown): Children<Definition> {
  return {
    form: "child",
    definitions: [definition],
    begin: (context) => [{ key: null, definition, input: input(context) }],
    resultOf: ([child]) => child!.results,
  };
}

export function some<Definition>(
  name: string,
  definitions: ReadonlyMap<string, Definition>,
  inputs: (context: Context) => unknown,
): Children<Definition> {
  return {
    form: "choose",
    definitions: [...definitions.values()],
    begin: (context) => {
      const chosen = inputs(context);
      if (!isPlainObject(chosen)) throw new TypeError(`choose ${show(name)} takes inputs by name, not ${show(chosen)}`);
      return Object.entries(chosen).flatMap(([key, input]) => {
        const definition = definitions.get(key);
        if (definition === undefined) throw new TypeError(`choose ${show(name)} has no saga ${show(key)}`);
        return input === undefined ? [] : { key, definition, input };
      });
    },
    resultOf: (children) => Object.fromEntries(children.map(({ key, results }) => [key, results])),
  };
}

export function each<Definition>(
  name: string,
  definition: Definition,
  inputs: (context: Context) => unknown,
): Children<Definition> {
  return {
    form: "each",
    definitions: [definition],
    begin: (context) => {
      const list = inputs(context);
      if (!Array.isArray(list) || list.length > mostChildren) {
        const found = Array.isArray(list) ? `${list.length} of them` : show(list);
        throw new TypeError(`each ${show(name)} takes a list of at most ${mostChildren} inputs, not ${found}`);
      }
      return list.map((input, index) => ({ key: String(index + 1), definition, input }));
    },
    resultOf: (children) => children.map(({ results }) => results),
  };
}

export function loop<Definition>(name: string, definition: Definition, options: unknown): Children<Definition> {
  const { input, until, limit } = loopOptions.read([options], `repeat ${show(name)}`);
  const child = (context: Context, round: number, last: unknown): ChildToBegin<Definition> => {
    return { key: String(round), definition, input: input({ ...context, round, last } as never) };
  };
  return {
    form: "repeat",
    definitions: [definition],
    begin: (context) => [child(context, 1, null)],
    next: (context, last, rounds) => {
      if (until({ ...context, round: rounds, last } as never)) return null;
      if (rounds >= limit) throw new Error(`repeat ${show(name)} has not ended after ${limit} rounds`);
      return child(context, rounds + 1, last);
    },
    resultOf: (children) => children.at(-1)!.results,
  };
}
