import { isatty } from "node:tty";
import { describeError, isInstance } from "../errors/describe.js";
import { type OptionsOf, option, options } from "../kit/config.js";
import type { LogFields, Logger } from "../kit/logger.js";
import { is } from "../kit/options.js";
import { jsonLine } from "./json-lines.js";
import { type LineLevel, logLevels } from "./levels.js";
import { type PlainFields, plainFields } from "./plain.js";
import { type Paint, paintFor, prettyLine } from "./pretty.js";
import { isSink, type LogSink, standardOutput } from "./sink.js";
import { traceFields } from "./trace-fields.js";

/** `json` is one JSON object per line, `pretty` is for people. */
export type LogFormat = (typeof logFormats)[number];
export const logFormats = ["json", "pretty"] as const;

const loggerOptions = options("createLogger()", {
  /** The lowest level that is written. Default "info". */
  level: option(is.oneOf(...logLevels), "info"),
  /** The format of the lines. Default: pretty in a terminal and JSON elsewhere. */
  format: option(is.oneOf(...logFormats)),
  /** The destination of the lines. Default: standard output, in batches. */
  sink: option(isSink),
});

export interface LoggerOptions extends OptionsOf<typeof loggerOptions.fields> {}

export function createLogger(options?: LoggerOptions): Logger {
  const { level, format, sink = standardOutput() } = loggerOptions.read([options]);
  const chosen = format ?? formatFor(sink);
  return new LineLogger(
    logLevels.indexOf(level),
    { sink, format: chosen, write: lineWriter(chosen, sink) },
    null,
    null,
  );
}

/** The output of a logger of the framework, for code that writes lines in another form. */
export interface LineOutput {
  readonly sink: LogSink;
  readonly format: LogFormat;
  /** True if lines of this level are written. */
  writes(level: LineLevel): boolean;
}

/** The output of a logger that `createLogger` made; null for any other. */
export function outputOf(logger: Logger): LineOutput | null {
  return logger instanceof LineLogger ? logger.lineOutput : null;
}

/** The default format for the output of a sink. */
export function formatFor(sink: LogSink): LogFormat {
  return sink.fd !== undefined && isatty(sink.fd) ? "pretty" : "json";
}

type LineWriter = (time: number, level: LineLevel, message: string, fields: PlainFields | null) => string;

function lineWriter(format: LogFormat, sink: LogSink): LineWriter {
  if (format === "json") return jsonLine;
  const paint: Paint = paintFor(sink.fd);
  return (time, level, message, fields) => prettyLine(time, level, message, fields, paint);
}

interface Output {
  readonly sink: LogSink;
  readonly format: LogFormat;
  readonly write: LineWriter;
}

class LineLogger implements Logger {
  readonly #threshold: number;
  readonly #output: Output;
  readonly #parent: LineLogger | null;
  readonly #fields: LogFields | null;
  /** The fields of this logger and of those it is a child of; made for the first line that needs them. */
  #bound: PlainFields | null = null;

  constructor(threshold: number, output: Output, parent: LineLogger | null, fields: LogFields | null) {
    this.#threshold = threshold;
    this.#output = output;
    this.#parent = parent;
    this.#fields = fields;
  }

  get lineOutput(): LineOutput {
    const { sink, format } = this.#output;
    return { sink, format, writes: (level) => this.#threshold <= logLevels.indexOf(level) };
  }

  debug(message: string, fields?: LogFields): void {
    if (this.#threshold <= 0) this.#emit("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    if (this.#threshold <= 1) this.#emit("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    if (this.#threshold <= 2) this.#emit("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    if (this.#threshold <= 3) this.#emit("error", message, fields);
  }

  child(fields: LogFields): Logger {
    return new LineLogger(this.#threshold, this.#output, this, fields);
  }

  #emit(level: LineLevel, message: unknown, fields: LogFields | undefined): void {
    const text = typeof message === "string" ? message : describeError(message).message;
    const bound = joined(traceFields(), this.#boundFields());
    const all = joined(bound, ownFields(message, fields));
    try {
      this.#output.sink.write(this.#output.write(Date.now(), level, text, all));
    } catch {
      // A sink that fails must not fail the request that was logged.
    }
  }

  #boundFields(): PlainFields | null {
    if (!this.#fields) return null;
    const inherited = this.#parent ? this.#parent.#boundFields() : null;
    return (this.#bound ??= { ...inherited, ...plainFields(this.#fields) });
  }
}

function joined(first: PlainFields | null, second: PlainFields | null): PlainFields | null {
  return first && second ? { ...first, ...second } : (first ?? second);
}

/** Also accepts an error in place of the message or the fields, which is common in code without type checks. */
function ownFields(message: unknown, fields: LogFields | undefined): PlainFields | null {
  if (isInstance(message, Error)) return { ...plainFields({ error: message }), ...(fields && plainFields(fields)) };
  if (!fields) return null;
  return plainFields(isInstance(fields, Error) ? { error: fields } : fields);
}
