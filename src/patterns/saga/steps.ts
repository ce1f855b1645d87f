import { options as declare, option } from "../../kit/config.js";
import { is, show } from "../../kit/options.js";
import { type Duration, milliseconds } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";

/** Thrown by an action that must not be tried again: the saga is compensated at once. */
export class StepRefused extends Error {
  override name = "StepRefused";
}

/**
 * Thrown by an action that cannot know if its effect exists, such as when the connection broke before the response. The step is
 * tried again with the same key, as after other errors. If the saga is compensated before an attempt succeeds, this step is
 * compensated too, with `result` undefined.
 */
export class StepUnknown extends Error {
  override name = "StepUnknown";
}

/** The values of an execution that its functions can read. */
export interface SagaContext<Input, Results> {
  readonly input: Input;
  /** The results of the steps before, by name. They have been through JSON. */
  readonly results: Results;
  readonly sagaId: string;
}

/** The surroundings of an action or a compensation. */
export interface StepContext<Input, Results> extends SagaContext<Input, Results> {
  /** The same for every attempt of this step, in every process: give it to the service that does the work. */
  readonly key: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborted when the time of the step or of the saga is over, or when another worker drives the saga. */
  readonly signal: AbortSignal;
}

export interface StepOptions<Input, Results, Result> {
  /**
   * Does the work. It may run again after a crash or a timeout, with the same key. An error that it throws says that its
   * effect is not there; `StepUnknown` says that it may be.
   */
  action(context: StepContext<Input, Results>): Result | Promise<Result>;
  /**
   * Undoes the work. `result` is undefined if it is not known whether the action had its effect. It may run again, with the
   * same key.
   */
  compensate?(
    context: StepContext<Input, Results> & { readonly result: NoInfer<Awaited<Result>> | undefined },
  ): unknown;
  /** Time for one attempt. Default: the time that the saga has left. */
  readonly timeout?: Duration | undefined;
  /** Attempts after the first one. Default: `maxRetries` of the config. */
  readonly retries?: number | undefined;
  /** Attempts of the compensation after the first one. Default 10. */
  readonly compensateRetries?: number | undefined;
}

/** A step as the driver sees it. */
export interface Step {
  readonly name: string;
  readonly action: (context: StepContext<never, never>) => unknown;
  readonly compensate: ((context: StepContext<never, never> & { readonly result: never }) => unknown) | undefined;
  readonly timeoutMs: number | undefined;
  readonly retries: number | undefined;
  readonly compensateRetries: number;
}

const stepOptions = declare("step()", {
  action: option.required<Step["action"]>(is.function),
  compensate: option<NonNullable<Step["compensate"]>>(is.function),
  timeout: option.duration(null, "1ms"),
  retries: option(is.integer(0, 1000)),
  compensateRetries: option(is.integer(0, 1_000_000), 10),
});

export function readStep(name: string, options: unknown): Step {
  const { timeout, ...settings } = stepOptions.read([options], `step ${show(name)}`);
  return { name, ...settings, timeoutMs: timeout === undefined ? undefined : milliseconds(timeout) };
}

/** Checks the name of a saga, a step or a signal. */
export function checkSagaName(what: string, name: unknown): asserts name is string {
  if (typeof name === "string" && /^[\w .-]{1,100}$/.test(name)) return;
  throw new ValueError(
    `the name of a ${what} must have 1 to 100 letters, digits, dots, hyphens and spaces, not ${show(name)}`,
  );
}
