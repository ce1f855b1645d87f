import { setOwn } from "../../../kit/own-property.js";
import type { Span } from "../../../kit/tracer.js";
import type { ArrayResult, ExecuteResult, Row } from "../database.js";
import { DataError, type OperationalError } from "../errors.js";
import type { StatementInfo } from "../statements.js";
import { endSpan, type StatementTracer } from "../trace.js";
import { type Encoded, encodeParameters } from "../values/encode.js";
import { type Reader, readerOf, readText } from "../values/read.js";
import type { RowSink, WireRow } from "../wire-row.js";

/** A column of a result as the server describes it. */
export interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

/** The columns of a result with the readers of their values. */
export interface Columns {
  readonly names: readonly string[];
  /** The object ids of their types. */
  readonly types: readonly number[];
  readonly readers: readonly Reader[];
  /** True if a plain assignment to one of the names would change the prototype of the row. */
  readonly unsafe: boolean;
}

export type ResultKind = "objects" | "row" | "value" | "arrays" | "text" | "sink" | "execute";

/** Gets the duration and the outcome of each statement. Without one, no time is measured. */
export interface QueryMeter {
  /** Gets the seconds from the call to its end, and its error or null. */
  settled(seconds: number, error: unknown): void;
}

/** Records a statement until its end: the log of queries. */
export interface ExecutionRecorder {
  /** Gets its error, or null. */
  settled(error: unknown): void;
}

export const noColumns: Columns = { names: [], types: [], readers: [], unsafe: false };

/** The connection that runs an execution. */
export interface ExecutionCarrier {
  send(execution: Execution): void;
  cancel(execution: Execution): void;
}

/** One statement on its way through a connection, with its parameters and its result. */
export class Execution {
  readonly promise: Promise<unknown>;
  /** The parameters as they are sent; null until they have been checked. */
  encoded: Encoded[] | null = null;
  /** The number of times it was sent again: a prepared statement was outdated, or the cancel of another one hit it. */
  retries = 0;
  /** The number of servers that it was taken back from. */
  servers = 0;
  completed = false;
  /** True if the caller has its result; later messages of the server are dropped. */
  settled = false;
  /** The connection that was given the execution. */
  carrier: ExecutionCarrier | null = null;
  /** Set while the execution waits for something; takes it out of there. */
  withdraw: ((execution: Execution) => void) | null = null;
  /** When it began to wait for a connection. */
  waitingSince = 0;
  /** Milliseconds that it waited for a connection. */
  waitedMs = 0;
  /** Removes the listener of the signal and the timer. */
  unwatch: (() => void) | null = null;
  /** Counted by its connection as slow. */
  heavy = false;
  /** The statement was cancelled on the server at the caller's wish. */
  cancelled = false;
  /** Its transaction is read only at the caller's wish. */
  readOnly = false;
  /** Set while a replica runs it: gets its error and returns true if the execution was sent to the primary instead. */
  reroute: ((error: unknown) => boolean) | null = null;
  columns: Columns = noColumns;
  /** Takes the rows of an execution of the kind `sink`. */
  sink: RowSink | null = null;
  #sinkBegun = false;
  #meter: QueryMeter | null = null;
  #span: Span | null = null;
  #recorder: ExecutionRecorder | null = null;
  #startedAt = 0;
  #rows: unknown[] = [];
  #command = "";
  #decodeError: DataError | undefined = undefined;
  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;

  constructor(
    readonly info: StatementInfo,
    readonly params: readonly unknown[],
    readonly kind: ResultKind,
    /** False for a statement that is sent without a name. */
    public prepare: boolean,
    /** Several statements in one text, without parameters. */
    readonly script: boolean = false,
  ) {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Measures the time until its end. */
  measure(meter: QueryMeter): void {
    this.#meter = meter;
    this.#startedAt = performance.now();
  }

  /** Records the execution as a span. */
  trace(tracer: StatementTracer): void {
    this.#span = tracer.start(this.info);
  }

  /** Records the execution in a log. */
  record(recorder: ExecutionRecorder): void {
    this.#recorder = recorder;
  }

  /** True if the command tag of the server is wanted: it has the number of rows. */
  get wantsTag(): boolean {
    return this.kind === "execute" || this.#recorder !== null;
  }

  /** The number of rows that the server reported at the end. */
  get rowCount(): number {
    return executed(this.#command).rowCount;
  }

  /** Checks the parameters by the types that are known; false when that failed and the execution is over. */
  encode(): boolean {
    try {
      this.encoded = encodeParameters(this.params, this.info.parameterTypes);
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** One row. A value that cannot be decoded fails the execution at the end of its result. */
  row(row: WireRow): void {
    if (this.settled || this.#decodeError !== undefined) return;
    switch (this.kind) {
      case "objects":
        break;
      case "row":
      case "value":
      case "text":
        if (this.#rows.length > 0) return;
        break;
      case "execute":
        return;
    }
    try {
      if (this.kind === "sink") this.#begunSink().row(row);
      else this.#rows.push(this.#decode(row));
    } catch (cause) {
      this.#decodeError = new DataError("a value in the result could not be read", { cause });
    }
  }

  /** Takes the command tag, with which the server ends a result. */
  complete(command: string): void {
    this.completed = true;
    this.#command = command;
  }

  /** Drops the rows of an attempt before the next one. */
  restart(): void {
    this.#rows = [];
    this.#command = "";
    this.#decodeError = undefined;
    this.#sinkBegun = false;
    this.completed = false;
    this.retries++;
  }

  /** Makes it like new, to be sent to another server. */
  startOver(): void {
    this.restart();
    this.retries = 0;
    this.servers++;
    this.heavy = false;
    this.carrier = null;
    this.columns = noColumns;
  }

  succeed(): void {
    if (this.settled) return;
    if (this.#decodeError !== undefined) {
      this.fail(this.#decodeError);
      return;
    }
    this.#settle(null);
    this.#resolve(this.#result());
  }

  fail(error: unknown): void {
    if (this.settled) return;
    const { reroute } = this;
    this.reroute = null;
    if (reroute?.(error)) return;
    this.#settle(error);
    this.#reject(error);
  }

  /** Rejects the call at once, and stops the statement: in the line, or on the server. */
  abandon(error: OperationalError): void {
    this.reroute = null;
    this.withdraw?.(this);
    this.fail(error);
    this.carrier?.cancel(this);
  }

  #settle(error: unknown): void {
    this.settled = true;
    this.#meter?.settled((performance.now() - this.#startedAt) / 1000, error);
    if (this.#span !== null) endSpan(this.#span, error);
    this.#recorder?.settled(error);
    this.withdraw = null;
    this.unwatch?.();
    this.unwatch = null;
  }

  #begunSink(): RowSink {
    if (!this.#sinkBegun) this.sink!.begin(this.columns.types);
    this.#sinkBegun = true;
    return this.sink!;
  }

  #decode({ bytes, count, starts, ends }: WireRow): unknown {
    const { names, readers, unsafe } = this.columns;
    if (this.kind === "text" || this.kind === "value") {
      if (count === 0 || starts[0] === -1) return null;
      const read = this.kind === "text" ? readText : readers[0]!;
      return read(bytes, starts[0]!, ends[0]!);
    }
    if (this.kind === "arrays") {
      const list = new Array<unknown>(count);
      for (let i = 0; i < count; i++) {
        const start = starts[i]!;
        list[i] = start === -1 ? null : readers[i]!(bytes, start, ends[i]!);
      }
      return list;
    }
    const row: Row = {};
    for (let i = 0; i < count; i++) {
      const start = starts[i]!;
      const value = start === -1 ? null : readers[i]!(bytes, start, ends[i]!);
      if (unsafe) setOwn(row, names[i]!, value);
      else row[names[i]!] = value;
    }
    return row;
  }

  #result(): unknown {
    switch (this.kind) {
      case "objects":
        return this.#rows;
      case "arrays":
        return { columns: this.columns.names, rows: this.#rows as unknown[][] } satisfies ArrayResult;
      case "sink":
        this.#begunSink();
        return undefined;
      case "execute":
        return executed(this.#command);
      default:
        return this.#rows.length === 0 ? null : this.#rows[0];
    }
  }
}

export function columnsOf(fields: readonly Field[]): Columns {
  const names = fields.map((field) => field.name);
  return {
    names,
    types: fields.map((field) => field.dataTypeID),
    readers: fields.map((field) => readerOf(field.dataTypeID)),
    unsafe: names.includes("__proto__"),
  };
}

/** `INSERT 0 5`, `UPDATE 3`, `CREATE TABLE`: the last number counts rows. */
function executed(tag: string): ExecuteResult {
  const end = tag.search(/ \d/);
  if (end === -1) return { command: tag, rowCount: 0 };
  return { command: tag.slice(0, end), rowCount: Number(tag.slice(tag.lastIndexOf(" ") + 1)) };
}
