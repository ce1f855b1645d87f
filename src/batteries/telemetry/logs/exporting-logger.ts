import { describeError, isInstance } from "../../../errors/describe.js";
import type { LogFields, Logger } from "../../../kit/logger.js";
import { type LineLevel, type LogLevel, logLevels } from "../../../logging/levels.js";
import { type PlainFields, plainFields, plainText } from "../../../logging/plain.js";

/** Takes the lines that are exported. */
export type LogExport = (level: LineLevel, message: string, fields: PlainFields) => void;

/**
 * A logger that writes each line to another one and exports it. It wraps any logger, so the lines of an application's own
 * logger are exported too. Secrets are redacted before the export, as in the lines of the framework's logger.
 */
export class ExportingLogger implements Logger {
  readonly #inner: Logger;
  readonly #threshold: number;
  readonly #send: LogExport;
  readonly #bound: LogFields | null;

  constructor(inner: Logger, level: LogLevel, send: LogExport, bound: LogFields | null = null) {
    this.#inner = inner;
    this.#threshold = logLevels.indexOf(level);
    this.#send = send;
    this.#bound = bound;
  }

  debug(message: string, fields?: LogFields): void {
    this.#inner.debug(message, fields);
    if (this.#threshold <= 0) this.#export("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#inner.info(message, fields);
    if (this.#threshold <= 1) this.#export("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#inner.warn(message, fields);
    if (this.#threshold <= 2) this.#export("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#inner.error(message, fields);
    if (this.#threshold <= 3) this.#export("error", message, fields);
  }

  child(fields: LogFields): Logger {
    const level = logLevels[this.#threshold]!;
    return new ExportingLogger(this.#inner.child(fields), level, this.#send, { ...this.#bound, ...fields });
  }

  #export(level: LineLevel, message: unknown, fields: LogFields | undefined): void {
    try {
      const text = typeof message === "string" ? message : describeError(message).message;
      const own = isInstance(fields, Error) ? { error: fields } : fields;
      const error = isInstance(message, Error) ? { error: message } : null;
      this.#send(level, plainText(text), plainFields({ ...this.#bound, ...error, ...own }));
    } catch {
      // An export that fails must not fail the code that logs.
    }
  }
}
