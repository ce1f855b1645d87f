import { causesOf, describeError } from "../errors/describe.js";
import { sourceExcerpt } from "../errors/pages/source-excerpt.js";
import { type StackFrame, stackFrames } from "../errors/pages/stack-frames.js";
import { ValueError } from "../kit/value-error.js";
import type { ListenAddress } from "./transport.js";

/** A start that failed for a reason outside the program's code: its message is all there is to say. */
export class StartError extends Error {
  override name = "StartError";
}

/** The system's refusal of an address, with advice. */
export function listenError(error: unknown, address: ListenAddress): StartError {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const message = address.path === undefined ? hostProblem(code, address) : pathProblem(code, address.path);
  const where = address.path ?? `${address.host}:${address.port}`;
  return new StartError(message ?? `cannot listen on ${where}: ${summary(error)}`, { cause: error });
}

/** Why the server did not start, on one line, with the place in the program's own files. */
export function startFailure(error: unknown): string {
  if (error instanceof StartError) return oneLine(error.message);
  const frame = origin(error);
  const place = frame === undefined ? "" : ` (${frame.file}:${frame.line}:${frame.column})`;
  return oneLine((error instanceof ValueError ? error.message : `startup failed: ${summary(error)}`) + place);
}

/** The same, with the lines of the source at that place: for the developer who fixes it. */
export function startReport(error: unknown): string {
  const { file, line, column = 1 } = origin(error) ?? {};
  const lines = file === undefined || line === undefined ? null : sourceExcerpt(file, line);
  const shown = (lines ?? []).map(({ number, text }) => {
    const distance = Math.abs(number - line!);
    if (distance > 2) return "";
    const caret = `\n       | ${text.slice(0, column - 1).replace(/[^\t]/g, " ")}^`;
    return `\n${distance === 0 ? ">" : " "} ${String(number).padStart(4)} | ${text}${distance === 0 ? caret : ""}`;
  });
  return startFailure(error) + shown.join("");
}

/** Class and message of whatever was thrown, with those of its causes that are not quoted before. */
export function summary(error: unknown): string {
  if (!(error instanceof Error)) return `${String(error)} was thrown`;
  let text = titleOf(error);
  // Causes can go round in a circle.
  const seen = new Set<unknown>([error]);
  for (let cause = error.cause; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    seen.add(cause);
    if (!isQuoted(cause, text)) text += `: ${titleOf(cause)}`;
  }
  return text;
}

function titleOf(error: Error): string {
  return `${error.name}: ${error.message || (error as NodeJS.ErrnoException).code || "no message"}`;
}

/** An error of several is quoted by any of them, or by the cause of one. */
function isQuoted(error: Error, text: string): boolean {
  const parts = error instanceof AggregateError ? error.errors.flatMap((part) => [part, ...causesOf(part)]) : [error];
  return parts.some((part) => part instanceof Error && part.message !== "" && text.includes(part.message));
}

function hostProblem(code: string, { host, port }: ListenAddress): string | undefined {
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} on ${host} is already in use; choose another with --port`;
    case "EACCES":
      return `no permission to listen on port ${port}; choose one above 1023 with --port`;
    case "EADDRNOTAVAIL":
      return `${host} is not an address of this machine; choose another with --host`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host "${host}" cannot be resolved; choose another with --host`;
    default:
      return undefined;
  }
}

function pathProblem(code: string, path: string): string | undefined {
  switch (code) {
    case "EADDRINUSE":
      return `the socket ${path} is already in use`;
    // libuv reports a missing directory as EACCES, the system as ENOENT.
    case "EACCES":
    case "ENOENT":
    case "ENOTDIR":
      return `cannot create the socket ${path}: its directory is missing or not writable`;
    case "ENAMETOOLONG":
    case "EINVAL":
      return `cannot create the socket ${path}: the path is too long`;
    default:
      return undefined;
  }
}

/** The frame of the program's own files in which an error was made. */
function origin(error: unknown): StackFrame | undefined {
  if (error instanceof StartError) return undefined;
  return stackFrames(describeError(error)).find(({ owner, column }) => owner === "application" && column !== undefined);
}

function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, " ").trim();
}
