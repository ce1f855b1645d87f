import type { LogFields, Logger } from "../../../kit/logger.js";
import { DatabaseError } from "../errors.js";
import type { Execution, ExecutionRecorder } from "../pool/execution.js";
import { currentWork, type RequestWork } from "../request-work.js";
import { summarize } from "../sql/query-summary.js";
import type { StatementInfo } from "../statements.js";
import { callerOf } from "./caller.js";
import type { QueryLogSettings } from "./options.js";
import { shownParameters } from "./shown-parameters.js";
import { type RepeatedStatement, StatementTally } from "./statement-tally.js";
import { currentCure, watchCallers } from "./watched-call.js";

/** A statement that has ended. */
export interface QueryEntry {
  readonly statement: string;
  /** Milliseconds from the call to its end. */
  readonly ms: number;
  /** Milliseconds of them in which it waited for a connection. */
  readonly waitMs: number;
  readonly rows: number;
  readonly caller: string | null;
  readonly route: string | null;
  readonly slow: boolean;
  /** The name and SQLSTATE of its error; null if it succeeded. */
  readonly error: string | null;
}

/** Gets all statements: the panel of the live page. */
export interface QueryAudience {
  ended(entry: QueryEntry): void;
  requestEnded(route: string | null, statements: number, ms: number, repeated: readonly RepeatedStatement[]): void;
}

/** Gives the plan of a statement; null if it has none, or has been asked for recently. */
export type Planner = (info: StatementInfo, params: readonly unknown[]) => Promise<string | null>;

export interface QueryLogInit {
  readonly settings: QueryLogSettings;
  /** Null to write no lines. */
  readonly logger: Logger | null;
  readonly callers: boolean;
  readonly planner: Planner | null;
  readonly audience: QueryAudience | null;
}

/** Characters of a statement that are logged. */
const longestStatement = 2000;

const shownTexts = new WeakMap<StatementInfo, string>();

/** Records the statements of a database, and writes a line for each. */
export class QueryLog {
  readonly #init: QueryLogInit;
  readonly #unwatch: (() => void) | null;

  constructor(init: QueryLogInit) {
    this.#init = init;
    this.#unwatch = init.callers ? watchCallers() : null;
  }

  close(): void {
    this.#unwatch?.();
  }

  /** Records an execution from its start. Called where the statement was sent, in the asynchronous context of the caller. */
  record(execution: Execution): void {
    const work = currentWork();
    const caller = this.#init.callers ? callerOf() : null;
    const cure = currentCure();
    const startedAt = performance.now();
    const recorder: ExecutionRecorder = {
      settled: (error) => this.#ended(execution, work, { caller, cure, ms: performance.now() - startedAt, error }),
    };
    execution.record(recorder);
  }

  #ended(
    execution: Execution,
    work: RequestWork | null,
    { caller, cure, ms, error }: { caller: string | null; cure: string | null; ms: number; error: unknown },
  ): void {
    const { settings, audience, logger } = this.#init;
    const entry: QueryEntry = {
      statement: shownText(execution.info),
      ms,
      waitMs: execution.waitedMs,
      rows: execution.rowCount,
      caller,
      route: work?.request.pattern ?? null,
      slow: ms >= settings.slow * 1000,
      error: error === null ? null : errorText(error),
    };
    if (work !== null) this.#tallyOf(work).add(entry, cure);
    audience?.ended(entry);
    if (logger === null || (settings.slowOnly && !entry.slow)) return;
    const fields = this.#fieldsOf(entry, execution, work);
    if (entry.slow) void this.#logSlow(execution, logger, fields);
    else logger.info("query", fields);
  }

  /** The line of a slow statement waits for its plan. */
  async #logSlow({ info, params }: Execution, logger: Logger, fields: LogFields): Promise<void> {
    const plan = await this.#init.planner?.(info, params).catch(() => null);
    logger.warn("slow query", plan ? { ...fields, plan } : fields);
  }

  #fieldsOf(entry: QueryEntry, { info, params }: Execution, work: RequestWork | null): LogFields {
    const { statement, ms, waitMs, rows, caller, error } = entry;
    return {
      statement,
      duration_ms: rounded(ms),
      ...(waitMs > 0 && { wait_ms: rounded(waitMs) }),
      rows,
      ...(error !== null && { error }),
      ...(this.#init.settings.parameters && params.length > 0 && { parameters: shownParameters(info, params) }),
      ...(caller !== null && { caller }),
      ...(work !== null && requestFields(work)),
    };
  }

  #tallyOf(work: RequestWork): StatementTally {
    if (work.tally instanceof StatementTally) return work.tally;
    const tally = new StatementTally();
    work.tally = tally;
    work.request.onFinish(() => this.#requestEnded(work, tally));
    return tally;
  }

  #requestEnded(work: RequestWork, tally: StatementTally): void {
    const { settings, audience, logger } = this.#init;
    const repeated = settings.repeated === 0 ? [] : tally.repeated(settings.repeated);
    audience?.requestEnded(work.request.pattern, tally.count, tally.ms, repeated);
    for (const { statement, times, ms, caller, cure } of logger === null ? [] : repeated) {
      logger!.warn(`the same statement ran ${times} times in one request`, {
        statement,
        duration_ms: rounded(ms),
        ...(caller !== null && { caller }),
        cure,
        ...requestFields(work),
      });
    }
  }
}

function requestFields({ request }: RequestWork): LogFields {
  return { method: request.method, route: request.pattern, request_id: request.id };
}

/** The text without literals, unless it has placeholders: values are in the log only if they are asked for. */
function shownText(info: StatementInfo): string {
  let text = shownTexts.get(info);
  if (text === undefined) {
    text = summarize(info.text).text;
    if (text.length > longestStatement) text = `${text.slice(0, longestStatement)}…`;
    shownTexts.set(info, text);
  }
  return text;
}

function errorText(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return error instanceof DatabaseError && error.sqlstate !== null ? `${error.name} (${error.sqlstate})` : error.name;
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
