import { options as declare, type OptionsOf, option } from "../../kit/config.js";
import { is, isPlainObject, show } from "../../kit/options.js";
import { type Duration, durationForm, isDuration, milliseconds } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../../validation/standard-schema.js";
import { type Children, each, type LoopOptions, loop, one, some } from "./children.js";
import type { SagaAttributes } from "./info.js";
import { checkSagaName, readStep, type SagaContext, type Step, type StepOptions } from "./steps.js";
import { readWait, type Wait, type WaitOptions, type WaitResult } from "./waits.js";

const sagaOptions = declare("saga()", {
  /** Sagas that were started continue with the version they began with. Default 1. */
  version: option(is.integer(1, 1_000_000), 1),
  /** Checks the input at the start. */
  input: option<StandardSchema>(is.anything),
  /**
   * Time that the steps of the saga may take together, in place of the config's; 0 for no limit. The time in which it waits
   * does not count.
   */
  timeoutMs: option.milliseconds(null),
  /** Values by which executions are found, of the input: `app.sagas.list({ attributes: { customer: "c1" } })`. */
  attributes: option<(input: never) => SagaAttributes>(is.function),
});

export type SagaSettings<Schema = undefined, Input = never> = Omit<
  OptionsOf<typeof sagaOptions.fields>,
  "input" | "attributes"
> & {
  /** Checks the input at the start. */
  readonly input?: Schema | undefined;
  /** Values by which executions are found, of the input: `app.sagas.list({ attributes: { customer: "c1" } })`. */
  readonly attributes?: ((input: Input) => SagaAttributes) | undefined;
};

/** A value, or a function of the execution that returns it. */
export type FromContext<Input, Results, Value> = Value | ((context: SagaContext<Input, Results>) => Value);

type ReadContext<Value> = (context: SagaContext<never, never>) => Value;

/** A part of a definition as the driver sees it. `at` is the number of its first unit. */
export type SagaNode = { readonly at: number; readonly names: readonly string[] } & (
  | { readonly kind: "step"; readonly step: Step }
  | { readonly kind: "parallel"; readonly steps: readonly Step[] }
  | { readonly kind: "wait"; readonly wait: Wait }
  | { readonly kind: "sleep"; readonly duration: ReadContext<unknown> }
  | ({ readonly kind: "child" } & Children<SagaDefinition>)
);

type NewNode = SagaNode extends infer Node ? (Node extends SagaNode ? Omit<Node, "at"> : never) : never;

declare const result: unique symbol;

/** A step of a parallel part, with the type of its result. */
export interface Branch<Result> {
  readonly [result]?: Result;
}

type BranchResults<New> = {
  readonly [K in keyof New]: New[K] extends { action: (...args: never) => infer Result }
    ? Awaited<Result>
    : New[K] extends Branch<infer Result>
      ? Result
      : never;
};

/** A definition as a parent or a start needs it: with the types of its results and of the input it takes. */
export interface DefinedSaga<Results = unknown, Given = unknown> {
  readonly kind: "saga";
  readonly name: string;
  readonly version: number;
  /** For the compiler alone. */
  readonly givenType?: (given: Given) => void;
  readonly resultTypes?: Results;
}

type ResultsOf<Saga> = Saga extends DefinedSaga<infer Results, never> ? Results : never;

type GivenOf<Saga> = Saga extends { readonly givenType?: (given: infer Given) => void } ? Given : never;

/** The steps of a saga, in order. Each call returns a definition with one part more. */
export class SagaDefinition<Input = unknown, Results = unknown, Given = Input> implements DefinedSaga<Results, Given> {
  /** The types of its input and results, for the compiler alone. */
  declare readonly inputType?: Input;
  declare readonly givenType?: (given: Given) => void;
  declare readonly resultTypes?: Results;
  /** Identifies definitions; `app.saga()` does not load this file to recognize them. */
  readonly kind = "saga";
  /** The node of each unit. A parallel part has a unit for each of its steps, every other part has one. */
  readonly units: readonly SagaNode[];
  /**
   * The kinds and names of its parts, a line for each. An execution keeps the text that it began with: code that has changed
   * under the same version is another definition.
   */
  readonly steps: string;

  /** @internal */
  constructor(
    readonly name: string,
    readonly version: number,
    readonly input: StandardSchema | undefined,
    readonly timeoutMs: number | undefined,
    readonly attributes: ((input: never) => SagaAttributes) | undefined,
    readonly nodes: readonly SagaNode[],
  ) {
    this.units = nodes.flatMap((node) => node.names.map(() => node));
    this.steps = nodes.map((node) => `${partOf(node)} ${node.names.join(", ")}`).join("\n");
  }

  /** Adds a step. Steps run one after the other; if one fails, those before it are compensated, the newest first. */
  step<const Name extends string, Result>(
    name: Name,
    options: StepOptions<Input, Results, Result>,
  ): SagaDefinition<Input, Results & { readonly [K in Name]: Awaited<Result> }, Given> {
    return this.#with({ kind: "step", names: [name], step: readStep(name, options) });
  }

  /**
   * Adds steps that run at the same time. If one of them fails, those in progress end first; then those that had an effect
   * are compensated. A function gives `result` its type in compensations: `parallel((step) => ({ a: step({ ... }) }))`.
   */
  parallel<const New extends Record<string, Branch<unknown>>>(
    branches: (step: <Result>(options: StepOptions<Input, Results, Result>) => Branch<Awaited<Result>>) => New,
  ): SagaDefinition<Input, Results & BranchResults<New>, Given>;
  parallel<const New extends Record<string, StepOptions<Input, Results, unknown>>>(
    branches: New,
  ): SagaDefinition<Input, Results & BranchResults<New>, Given>;
  parallel<Next>(given: unknown): Next {
    const branches: unknown = typeof given === "function" ? given((options: unknown) => options) : given;
    if (typeof branches !== "object" || branches === null || Object.keys(branches).length === 0) {
      throw new ValueError("parallel() takes an object of steps, by name");
    }
    const steps = Object.entries(branches).map(([name, options]) => readStep(name, options));
    return this.#with({ kind: "parallel", names: steps.map(({ name }) => name), steps });
  }

  /**
   * Waits for a signal, a message or an event, without a process: the saga is in the database until then. What has arrived
   * since the start of the saga, before the wait begins, counts too.
   */
  waitFor<const Name extends string, const Options extends WaitOptions<Input, Results> = Record<never, never>>(
    name: Name,
    options?: Options & WaitOptions<Input, Results>,
  ): SagaDefinition<Input, Results & { readonly [K in Name]: WaitResult<Options> }, Given> {
    return this.#with({ kind: "wait", names: [name], wait: readWait(name, options) });
  }

  /** Waits for a duration, or until a date, by the clock of the database, without a process. */
  sleep<const Name extends string>(
    name: Name,
    duration: FromContext<Input, Results, Duration | Date>,
  ): SagaDefinition<Input, Results & { readonly [K in Name]: null }, Given> {
    if (typeof duration !== "function") readSleep(duration);
    return this.#with({ kind: "sleep", names: [name], duration: reader(duration) });
  }

  /**
   * Runs another saga and waits for its end without a process. Its results are the result of this part. If this saga is
   * compensated, the other one is too.
   */
  child<const Name extends string, ChildResults, ChildGiven>(
    name: Name,
    definition: DefinedSaga<ChildResults, ChildGiven>,
    input: FromContext<Input, Results, NoInfer<ChildGiven>>,
  ): SagaDefinition<Input, Results & { readonly [K in Name]: ChildResults }, Given> {
    return this.#with({ kind: "child", names: [name], ...one(readChild(name, definition), reader(input)) });
  }

  /**
   * Runs those of several sagas that a function chooses, at the same time, and waits for them without a process. The function
   * returns their inputs by name: one for a branch, none to leave the part out. Their results are the result of this part, by name.
   */
  choose<const Name extends string, const Sagas extends Readonly<Record<string, DefinedSaga<unknown, never>>>>(
    name: Name,
    definitions: Sagas,
    inputs: (context: SagaContext<Input, Results>) => NoInfer<{ readonly [Key in keyof Sagas]?: GivenOf<Sagas[Key]> }>,
  ): SagaDefinition<
    Input,
    Results & { readonly [K in Name]: { readonly [Key in keyof Sagas]?: ResultsOf<Sagas[Key]> } },
    Given
  > {
    if (!isPlainObject(definitions) || Object.keys(definitions).length === 0) {
      throw new ValueError(`choose ${show(name)} takes an object of sagas, by name`);
    }
    const children = new Map(Object.entries(definitions).map(([key, child]) => [key, readChild(key, child)]));
    return this.#with({ kind: "child", names: [name], ...some(name, children, reader(inputs)) });
  }

  /**
   * Runs another saga once for each of the inputs, at the same time, and waits for all of them without a process. The list of
   * their results is the result of this part. If one fails, the others are compensated, and so is this saga.
   */
  each<const Name extends string, ChildResults, ChildGiven>(
    name: Name,
    definition: DefinedSaga<ChildResults, ChildGiven>,
    inputs: FromContext<Input, Results, readonly NoInfer<ChildGiven>[]>,
  ): SagaDefinition<Input, Results & { readonly [K in Name]: readonly ChildResults[] }, Given> {
    return this.#with({ kind: "child", names: [name], ...each(name, readChild(name, definition), reader(inputs)) });
  }

  /**
   * Runs another saga again and again, until a function is content with its results. Those of the last round are the result of
   * this part. If this saga is compensated, the rounds are too, the newest first.
   */
  repeat<const Name extends string, ChildResults, ChildGiven>(
    name: Name,
    definition: DefinedSaga<ChildResults, ChildGiven>,
    options: LoopOptions<Input, Results, ChildResults, NoInfer<ChildGiven>>,
  ): SagaDefinition<Input, Results & { readonly [K in Name]: ChildResults }, Given> {
    return this.#with({ kind: "child", names: [name], ...loop(name, readChild(name, definition), options) });
  }

  /** This definition and those of its children, each once. */
  family(): Set<SagaDefinition> {
    const all = new Set<SagaDefinition>([this as unknown as SagaDefinition]);
    for (const { nodes } of all) {
      for (const node of nodes) if (node.kind === "child") for (const child of node.definitions) all.add(child);
    }
    return all;
  }

  /** The types of the result are those that the caller declares. */
  #with<Next>(node: NewNode): Next {
    const taken = new Set(this.nodes.flatMap(({ names }) => names));
    for (const name of node.names) {
      checkSagaName("step", name);
      if (taken.has(name)) throw new ValueError(`two steps have the name ${show(name)}`);
    }
    const { name, version, input, timeoutMs, attributes, nodes } = this;
    const next = [...nodes, { ...node, at: this.units.length }];
    return new SagaDefinition(name, version, input, timeoutMs, attributes, next) as Next;
  }
}

/** Begins a definition: `saga<Input>("checkout")`, or with a schema: `saga("checkout", { input: Checkout })`. */
export function saga<Schema extends StandardSchema>(
  name: string,
  settings: SagaSettings<Schema, NoInfer<SchemaOutput<Schema>>> & { readonly input: Schema },
): SagaDefinition<SchemaOutput<Schema>, object, SchemaInput<Schema>>;
export function saga<Input = unknown>(
  name: string,
  settings?: SagaSettings<undefined, Input>,
): SagaDefinition<Input, object>;
export function saga<Next>(name: string, settings: SagaSettings<unknown> = {}): Next {
  checkSagaName("saga", name);
  const { version, input, timeoutMs, attributes } = sagaOptions.read([settings]);
  return new SagaDefinition(name, version, input, timeoutMs, attributes, []) as Next;
}

function readChild(name: string, definition: unknown): SagaDefinition {
  const child = definition as SagaDefinition;
  if (child?.kind !== "saga") throw new ValueError(`child ${show(name)} takes a definition made by saga()`);
  if (child.units.length === 0) throw new ValueError(`the saga ${show(child.name)} has no steps`);
  return child;
}

/** The kind of a part, in the text by which changed code is noticed. */
function partOf(node: SagaNode): string {
  return node.kind === "child" ? node.form : node.kind;
}

/** The time of a sleep: milliseconds, or a date. */
export function readSleep(value: unknown): number | Date {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value;
  if (isDuration()(value) === undefined) return milliseconds(value as Duration);
  throw new ValueError(`a saga sleeps for a duration (${durationForm}) or until a Date, not ${show(value)}`);
}

function reader<Value>(given: unknown): ReadContext<Value> {
  return typeof given === "function" ? (given as ReadContext<Value>) : () => given as Value;
}
