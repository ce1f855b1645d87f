import { inspect } from "node:util";
import { DatabaseError } from "../engines/db/errors.js";

/** The reason why a command failed, on one line, without the user and password of a URL. */
export function failureLine(error: unknown): string {
  const text = error instanceof Error ? messageOf(error) : `${String(error)} was thrown`;
  return withoutSecrets(text.replace(/\s*[\r\n]+\s*/g, " ").trim());
}

/** Everything there is to say: the stack, the causes, the statement. */
export function failureDetails(error: unknown): string {
  const statement = (error as { statement?: unknown } | null)?.statement;
  const database = databaseError(error);
  const parts = [
    ...(typeof statement === "string" ? [`statement: ${statement}`] : []),
    ...(database?.detail ? [`detail: ${database.detail}`] : []),
    ...(database?.hint ? [`hint: ${database.hint}`] : []),
    inspect(error),
  ];
  return withoutSecrets(parts.join("\n"));
}

function withoutSecrets(text: string): string {
  return text
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]*@/gi, "$1***@")
    .replace(/([?&]password=)[^\s&'"]*/gi, "$1***");
}

/** Errors of the framework have a complete message; for other errors the class helps to find the cause. */
function messageOf(error: Error): string {
  const message = error.message || (error as NodeJS.ErrnoException).code || "no message";
  const foreign = ["TypeError", "ReferenceError", "SyntaxError", "RangeError"].includes(error.name);
  return foreign ? `${error.name}: ${message}` : message;
}

function databaseError(error: unknown): DatabaseError | null {
  for (let each = error; each instanceof Error; each = each.cause) if (each instanceof DatabaseError) return each;
  return null;
}
