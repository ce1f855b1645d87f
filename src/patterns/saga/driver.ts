import type { Logger } from "../../internal/logger.js";
import { attempt } from "../storage/attempt.js";
import type { WorkSignals } from "../storage/leased-worker.js";
import { errorText, jsonText } from "../storage/texts.js";
import { backoff } from "../storage/wake.js";
import { type SagaDefinition, type Step, StepRefused } from "./definition.js";
import { DriverReplaced, type SagaRow, type SagaStorage } from "./storage.js";

export interface DriverSettings {
  readonly maxRetries: number;
  readonly backoffMs: number;
}

/** The longest pause between two attempts. */
const longestPause = 60_000;

/**
 * Moves one saga forward, one transition after the other. Every transition is written before its effect and after it, and
 * checks the token of the claim, so a driver that was replaced changes nothing.
 */
export class Driver {
  #row: SagaRow;

  constructor(
    readonly definition: SagaDefinition,
    row: SagaRow,
    readonly storage: SagaStorage,
    readonly settings: DriverSettings,
    readonly signals: WorkSignals,
    readonly logger: Logger,
  ) {
    // The process that began the step is gone: its effect may be there.
    const { inflight, unknown } = row;
    this.#row = inflight === null || unknown.includes(inflight) ? row : { ...row, unknown: [...unknown, inflight] };
  }

  async drive(): Promise<void> {
    try {
      while (await this.#advance()) {
        if (this.signals.lost.aborted) return;
        if (this.signals.draining.aborted) {
          await this.#change({ event: "handed over", wakeAfter: 0 });
          return;
        }
      }
    } catch (error) {
      if (!(error instanceof DriverReplaced)) throw error;
      this.logger.warn("a saga is driven by another worker now", { saga: this.#row.name, id: this.#row.id });
    }
  }

  /** Makes one step; false when there is nothing more to do now. */
  #advance(): Promise<boolean> {
    const { status } = this.#row;
    if (status === "running") return this.#forward();
    return status === "compensating" ? this.#backward() : Promise.resolve(false);
  }

  async #forward(): Promise<boolean> {
    const row = this.#row;
    const { steps } = this.definition;
    const step = steps[row.step];
    if (step === undefined) {
      await this.#change({ event: "completed", status: "completed", error: null });
      return false;
    }
    if (row.cancel || this.signals.cancelled.aborted) return this.#turnBack(step, "the end of the saga was asked for");
    if (row.left !== null && row.left <= 0) return this.#turnBack(step, "the time of the saga is over");
    const number = row.attempt + 1;
    const retries = step.retries ?? this.settings.maxRetries;
    // A step that ends the process each time is not begun for ever.
    if (number > retries + 1) return this.#turnBack(step, row.error ?? "the step did not end");
    await this.#change({
      event: "action started",
      attempt: number,
      inflight: step.name,
      logStep: step.name,
      logAttempt: number,
    });
    const outcome = await attempt(
      (signal) => step.action(this.#context(step, number, signal, "action")),
      Math.min(step.timeout ?? Infinity, this.#row.left ?? Infinity),
      this.signals,
    );
    const log = { logStep: step.name, logAttempt: number };
    if (outcome.kind === "lost") return false;
    if (outcome.kind === "done") {
      const results = withResult(row.results, step.name, outcome.result);
      if (results !== null) {
        const unknown = this.#row.unknown.filter((name) => name !== step.name);
        await this.#change({
          event: "action done",
          step: row.step + 1,
          attempt: 0,
          inflight: null,
          unknown,
          results,
          error: null,
          ...log,
        });
        return true;
      }
      return this.#turnBack(step, "the result of the step is not a JSON value", {
        unknown: true,
        event: "action failed",
        ...log,
      });
    }
    const error = errorText(outcome.error);
    const unknown = outcome.kind === "unknown";
    const event = unknown ? "action timed out" : "action failed";
    const over = this.signals.cancelled.aborted || (this.#row.left !== null && unknown && step.timeout === undefined);
    if (over || number > retries || outcome.error instanceof StepRefused) {
      return this.#turnBack(step, error, { unknown, event, ...log });
    }
    await this.#change({
      event,
      inflight: null,
      unknown: unknown ? added(this.#row.unknown, step.name) : this.#row.unknown,
      error,
      logError: error,
      // The end of its time is noticed in time, too.
      wakeAfter: Math.min(
        backoff(number - 1, this.settings.backoffMs, longestPause),
        Math.max(this.#row.left ?? Infinity, 0),
      ),
      ...log,
    });
    return false;
  }

  /** Begins the compensation: with the present step if its effect may be there, else with the one before. */
  async #turnBack(
    step: Step,
    error: string,
    {
      unknown = false,
      event = "compensation begins",
      ...log
    }: { unknown?: boolean; event?: string; logStep?: string; logAttempt?: number } = {},
  ): Promise<boolean> {
    const names = unknown ? added(this.#row.unknown, step.name) : this.#row.unknown;
    const first = names.includes(step.name) ? this.#row.step : this.#row.step - 1;
    await this.#change({
      event,
      status: "compensating",
      step: first,
      attempt: 0,
      inflight: null,
      unknown: names,
      error,
      logError: error,
      logStep: step.name,
      ...log,
    });
    return true;
  }

  async #backward(): Promise<boolean> {
    const row = this.#row;
    const step = this.definition.steps[row.step];
    if (row.step < 0 || step === undefined) {
      await this.#change({ event: "compensated", status: "compensated" });
      return false;
    }
    const { compensate } = step;
    if (compensate === undefined) {
      await this.#change({ event: "nothing to compensate", step: row.step - 1, attempt: 0, logStep: step.name });
      return true;
    }
    const number = row.attempt + 1;
    const log = { logStep: step.name, logAttempt: number };
    await this.#change({ event: "compensation started", attempt: number, ...log });
    const outcome = await attempt(
      (signal) => {
        const result = row.results[step.name] as never;
        return compensate({ ...this.#context(step, number, signal, "compensate"), result });
      },
      step.timeout ?? Infinity,
      { lost: this.signals.lost },
    );
    if (outcome.kind === "lost") return false;
    if (outcome.kind === "done") {
      await this.#change({ event: "compensation done", step: row.step - 1, attempt: 0, ...log });
      return true;
    }
    const error = errorText(outcome.error);
    if (number > step.compensateRetries) {
      this.logger.error("a saga is parked: a compensation failed", {
        saga: row.name,
        id: row.id,
        step: step.name,
        error,
      });
      await this.#change({ event: "parked", status: "parked", logError: error, wakeAfter: 0, ...log });
      return false;
    }
    const wakeAfter = backoff(number - 1, this.settings.backoffMs, longestPause);
    await this.#change({ event: "compensation failed", logError: error, wakeAfter, ...log });
    return false;
  }

  #context(step: Step, number: number, signal: AbortSignal, kind: "action" | "compensate") {
    const { id, input, results } = this.#row;
    const key = kind === "action" ? `${id}:${step.name}` : `${id}:${step.name}:compensate`;
    return { input: input as never, results: results as never, sagaId: id, key, attempt: number, signal };
  }

  async #change(change: Parameters<SagaStorage["transition"]>[1]): Promise<void> {
    this.#row = await this.storage.transition(this.#row, change);
  }
}

function withResult(results: SagaRow["results"], name: string, result: unknown): SagaRow["results"] | null {
  try {
    return { ...results, [name]: JSON.parse(jsonText(result, "the result of a step")) as unknown };
  } catch {
    return null;
  }
}

function added(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names : [...names, name];
}
