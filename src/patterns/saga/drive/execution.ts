import type { WorkSignals } from "../../../durable/leased-worker.js";
import { attemptSpan } from "../../../durable/stored-trace.js";
import { jsonText } from "../../../durable/texts.js";
import type { Logger } from "../../../kit/logger.js";
import type { LazySignal } from "../../../kit/time/lazy-signal.js";
import type { Span, Tracer } from "../../../kit/tracer.js";
import type { SagaDefinition, SagaNode } from "../definition.js";
import { applied, isFinished, type SagaRow, type Transition } from "../row.js";
import type { Step } from "../steps.js";
import { DriverReplaced, type SagaStorage } from "../storage.js";
import type { WaitStorage } from "../wait-storage.js";

export interface DriverSettings {
  readonly maxRetries: number;
  readonly maxLost: number;
  readonly backoffMs: number;
  readonly timeoutMs: number;
}

/** The parts of the process that drive sagas. */
export interface DriverParts {
  readonly storage: SagaStorage;
  readonly waits: WaitStorage;
  readonly settings: DriverSettings;
  readonly logger: Logger;
  readonly tracer: Tracer | null;
  /** Called when a saga has become due: a child that was started, a parent whose child has ended. */
  readonly ring: () => void;
}

/** The longest pause between two attempts. */
export const longestPause = 60_000;

/** The process that began these steps has ended: their effects may exist, and their attempts have no end. */
function withoutDriver(row: SagaRow): SagaRow {
  const { inflight, unknown, status, lost } = row;
  const names = status === "compensating" ? unknown : [...new Set([...unknown, ...inflight])];
  return { ...row, inflight: [], unknown: names, lost: lost + 1 };
}

/**
 * One saga while this process drives it. Every transition is written before its effect and after it, and checks the token of
 * the claim, so a driver that was replaced changes nothing.
 *
 * The transition after one step and the one before the next are written together, by one statement. `note` keeps the first
 * until `change` writes both; nothing of the user runs in between.
 */
export class Execution {
  #row: SagaRow;
  #unwritten: readonly Transition[] = [];
  #now: SagaRow;
  #readAt = performance.now();
  #writing: Promise<unknown> = Promise.resolve();

  constructor(
    readonly definition: SagaDefinition,
    row: SagaRow,
    readonly parts: DriverParts,
    readonly signals: WorkSignals,
  ) {
    this.#row = this.#now = row.inflight.length === 0 ? row : withoutDriver(row);
  }

  /** The state, with the changes that are not written yet. */
  get row(): SagaRow {
    return this.#now;
  }

  /** Milliseconds until the deadline; the process counts from the time that the database gave. */
  get left(): number {
    return this.#row.left === null ? Infinity : this.#row.left - (performance.now() - this.#readAt);
  }

  /** The reason to compensate now, whatever the next step is; null to continue. */
  get end(): string | null {
    if (this.#now.cancel || this.signals.cancelled.aborted) return "the end of the saga was asked for";
    return this.left <= 0 ? "the time of the saga is over" : null;
  }

  /** True if too many drivers were lost at this unit: a step that ends its process each time is not begun without end. */
  get isDeadly(): boolean {
    return this.#now.lost > this.parts.settings.maxLost;
  }

  note(change: Transition): void {
    this.#unwritten = [...this.#unwritten, change];
    this.#now = applied(this.#now, [change]);
  }

  change(change: Transition): Promise<void> {
    return this.write((row, changes) => {
      const ends = row.parentId !== null && change.status !== undefined && isFinished(change.status);
      return ends ? this.#endChild(row, changes) : this.parts.storage.transition(row, changes);
    }, change);
  }

  /**
   * Writes what was noted and `last`, by a function that gets the state before them. Branches of a parallel part write one
   * after the other.
   */
  write(
    save: (row: SagaRow, changes: readonly Transition[]) => Promise<SagaRow>,
    last?: Transition | (() => Transition),
  ): Promise<void> {
    const run = async (): Promise<void> => {
      const change = typeof last === "function" ? last() : last;
      const changes = change === undefined ? this.#unwritten : [...this.#unwritten, change];
      try {
        this.#row = this.#now = await save(this.#row, changes);
      } catch (error) {
        if (error instanceof DriverReplaced) this.#keepResults(changes);
        throw error;
      }
      this.#unwritten = [];
      this.#readAt = performance.now();
    };
    const done = this.#writing.then(run);
    this.#writing = done.catch(() => {});
    return done;
  }

  /** Keeps the result of a step that has ended after this driver was replaced. */
  keepResult(at: number, name: string, given: unknown): void {
    const result = plainResult(given);
    if (result === undefined) return;
    this.parts.storage.keepResult(this.#row.id, at, name, result.value).catch((error: unknown) =>
      this.parts.logger.warn("a step is done, and its result was not stored", {
        id: this.#row.id,
        step: name,
        error,
      }),
    );
  }

  #keepResults(changes: readonly Transition[]): void {
    for (const { event, results } of changes) {
      if (event !== "action done") continue;
      for (const [name, value] of Object.entries(results!)) this.keepResult(this.#row.step, name, value);
    }
  }

  async #endChild(row: SagaRow, changes: readonly Transition[]): Promise<SagaRow> {
    const next = await this.parts.waits.finishChild(row, changes);
    this.parts.ring();
    return next;
  }

  /** Begins the compensation: with the steps of this node whose effects may be there, else with those before. */
  async turnBack(
    node: SagaNode,
    error: string,
    { unknown = [], event = "compensation begins", ...log }: TurnBack = {},
  ): Promise<boolean> {
    const names = [...new Set([...this.#now.unknown, ...unknown])];
    await this.change({
      event,
      status: "compensating",
      step: node.at + node.names.length - 1,
      attempt: 0,
      branches: {},
      inflight: [],
      unknown: names,
      error,
      waited: true,
      logError: error,
      logStep: node.names.length === 1 ? node.names[0] : undefined,
      ...log,
    });
    return true;
  }

  /** The values that functions of the user get. */
  context(): { readonly input: never; readonly results: never; readonly sagaId: string } {
    const { id, input, results } = this.#now;
    return { input: input as never, results: results as never, sagaId: id };
  }

  stepContext(step: Step, attempt: number, current: LazySignal, kind: "action" | "compensate") {
    const { id, input, results } = this.#now;
    return {
      input: input as never,
      results: results as never,
      sagaId: id,
      key: kind === "action" ? `${id}:${step.name}` : `${id}:${step.name}:compensate`,
      attempt,
      get signal() {
        return current.signal;
      },
    };
  }

  /** A span of an attempt; null without telemetry. */
  span(step: string, attempt: number, kind: "action" | "compensate"): Span | null {
    const { tracer } = this.parts;
    if (tracer === null) return null;
    const { id, name, trace } = this.#now;
    const attributes = {
      "messaging.destination.name": name,
      "messaging.message.id": id,
      "stoa.saga.name": name,
      "stoa.saga.id": id,
      "stoa.saga.step": step,
      "stoa.saga.attempt": attempt,
      "stoa.saga.kind": kind,
    };
    const title = `saga ${name} ${kind === "action" ? step : `undo ${step}`}`;
    return attemptSpan(tracer, title, trace, attributes);
  }
}

interface TurnBack {
  readonly unknown?: readonly string[];
  readonly event?: string;
  readonly logStep?: string;
  readonly logAttempt?: number;
}

/** The name of an execution in the log. */
export function sagaName({ name, id }: Pick<SagaRow, "name" | "id">): string {
  return `saga '${name}' ${id}`;
}

/** A result as the table keeps it; undefined if JSON cannot hold it. */
export function plainResult(result: unknown): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(jsonText(result, "the result of a step")) as unknown };
  } catch {
    return undefined;
  }
}

export function without(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names.filter((other) => other !== name) : names;
}

export function withName(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names : [...names, name];
}
