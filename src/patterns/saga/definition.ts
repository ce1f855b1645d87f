import { type Checks, is, readOptions, show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { SchemaOutput, StandardSchema } from "../../validation/standard-schema.js";

/** Thrown by an action that must not be tried again: the saga is compensated at once. */
export class StepRefused extends Error {
  override name = "StepRefused";
}

/** The surroundings of an action or a compensation. */
export interface StepContext<Input, Results> {
  readonly input: Input;
  /** The results of the steps before, by name. They have been through JSON. */
  readonly results: Results;
  readonly sagaId: string;
  /** The same for every attempt of this step, in every process: give it to the service that does the work. */
  readonly key: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborted when the time of the step or of the saga is over, or when another worker drives the saga. */
  readonly signal: AbortSignal;
}

export interface StepOptions<Input, Results, Result> {
  /** Does the work. It may run again after a crash or a timeout, with the same key. */
  action(context: StepContext<Input, Results>): Result | Promise<Result>;
  /**
   * Undoes the work. `result` is undefined if it is not known whether the action had its effect. It may run again, with the
   * same key.
   */
  compensate?(
    context: StepContext<Input, Results> & { readonly result: NoInfer<Awaited<Result>> | undefined },
  ): unknown;
  /** Milliseconds of one attempt. Default: those that the saga has left. */
  readonly timeout?: number | undefined;
  /** Attempts after the first one. Default: `maxRetries` of the config. */
  readonly retries?: number | undefined;
  /** Attempts of the compensation after the first one. Default 10. */
  readonly compensateRetries?: number | undefined;
}

export interface SagaSettings<Schema = undefined> {
  /** Sagas that were started continue with the version they began with. Default 1. */
  readonly version?: number | undefined;
  /** Checks the input at the start. */
  readonly input?: Schema | undefined;
  /** Milliseconds that the whole saga may take, in place of the config's; 0 for no limit. */
  readonly timeoutMs?: number | undefined;
}

/** A step as the driver sees it. */
export interface Step {
  readonly name: string;
  readonly action: (context: StepContext<never, never>) => unknown;
  readonly compensate: ((context: StepContext<never, never> & { readonly result: never }) => unknown) | undefined;
  readonly timeout: number | undefined;
  readonly retries: number | undefined;
  readonly compensateRetries: number;
}

const stepChecks: Checks<StepOptions<never, never, unknown>> = {
  action: is.function,
  compensate: is.function,
  timeout: is.integer(1),
  retries: is.integer(0, 1000),
  compensateRetries: is.integer(0, 1_000_000),
};

const settingChecks: Checks<SagaSettings<unknown>> = {
  version: is.integer(1, 1_000_000),
  input: is.anything,
  timeoutMs: is.integer(0),
};

/** The steps of a saga, in order. `step` returns a definition with one step more. */
export class SagaDefinition<Input = unknown, Results = unknown> {
  /** The types of its input and results, for the compiler alone. */
  declare readonly inputType?: Input;
  declare readonly resultTypes?: Results;
  /** Identifies definitions; `app.saga()` does not load this file to recognize them. */
  readonly kind = "saga";

  /** @internal */
  constructor(
    readonly name: string,
    readonly version: number,
    readonly input: StandardSchema | undefined,
    readonly timeoutMs: number | undefined,
    readonly steps: readonly Step[],
  ) {}

  /** Adds a step. Steps run one after the other; if one fails, those before it are compensated, the newest first. */
  step<const Name extends string, Result>(
    name: Name,
    options: StepOptions<Input, Results, Result>,
  ): SagaDefinition<Input, Results & { readonly [K in Name]: Awaited<Result> }> {
    if (typeof name !== "string" || !/^[\w .-]{1,100}$/.test(name)) {
      throw new ValueError(
        `the name of a step must have 1 to 100 letters, digits, dots, hyphens and spaces, not ${show(name)}`,
      );
    }
    if (this.steps.some((step) => step.name === name)) throw new ValueError(`two steps have the name ${show(name)}`);
    const owner = `step ${show(name)}`;
    const given = readOptions<StepOptions<never, never, unknown>>(owner, options, stepChecks);
    if (given.action === undefined) throw new ValueError(`option 'action' is required in ${owner}`);
    const step: Step = {
      name,
      action: given.action,
      compensate: given.compensate as Step["compensate"],
      timeout: given.timeout,
      retries: given.retries,
      compensateRetries: given.compensateRetries ?? 10,
    };
    return new SagaDefinition(this.name, this.version, this.input, this.timeoutMs, [...this.steps, step]);
  }
}

/** Begins a definition: `saga<Input>("checkout")`, or with a schema: `saga("checkout", { input: Checkout })`. */
export function saga<Schema extends StandardSchema>(
  name: string,
  settings: SagaSettings<Schema> & { readonly input: Schema },
): SagaDefinition<SchemaOutput<Schema>, object>;
export function saga<Input = unknown>(name: string, settings?: SagaSettings): SagaDefinition<Input, object>;
export function saga(name: string, settings: SagaSettings<unknown> = {}): SagaDefinition<unknown, object> {
  if (typeof name !== "string" || !/^[\w .-]{1,100}$/.test(name)) {
    throw new ValueError(
      `the name of a saga must have 1 to 100 letters, digits, dots, hyphens and spaces, not ${show(name)}`,
    );
  }
  const { version = 1, input, timeoutMs } = readOptions<SagaSettings<unknown>>("saga()", settings, settingChecks);
  return new SagaDefinition(name, version, input as StandardSchema | undefined, timeoutMs, []);
}
