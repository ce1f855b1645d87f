import { HttpError } from "../errors/http-error.js";
import { safeMessage } from "./messages.js";
import type { SchemaIssue, StandardSchema } from "./standard-schema.js";

/** One mistake in the input: its place, a message and a name. It never holds the input itself. */
export interface Issue {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** The error of input that does not fit its schema, with all mistakes that were found. */
export class ValidationError extends HttpError {
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[], status = 422) {
    super(status, `${issues.length} validation error${issues.length === 1 ? "" : "s"}`, { body: { detail: issues } });
    this.issues = issues;
  }
}

/** The most mistakes that a response lists: a long list of wrong items must not become a response many times its size. */
export const maxIssues = 1000;

/** The issues of a schema library in the framework's form; `place` is the source of the input. */
export function toIssues(
  place: string,
  issues: readonly SchemaIssue[],
  input: unknown,
  limit: number = maxIssues,
): Issue[] {
  const found: Issue[] = [];
  const texts = new Map<unknown, readonly string[]>();
  for (const issue of issues) {
    if (found.length >= limit) break;
    const loc = [place, ...(issue.path ?? []).map((part) => keyOf(typeof part === "object" ? part.key : part))];
    const type = typeOf(issue);
    const keys = unrecognizedKeys(issue, limit);
    // One issue for each, where it is; the library's message would quote them all.
    if (keys) for (const key of keys) found.push({ loc: [...loc, key], msg: "Unrecognized key", type });
    else found.push({ loc, msg: safeMessage(issue, input, texts), type });
  }
  return found.slice(0, limit);
}

/** The output of a schema. Throws for a value that does not fit it; `place` is the source of the value. */
export async function validated(schema: StandardSchema, value: unknown, place: string): Promise<unknown> {
  const result = await schema["~standard"].validate(value);
  if (result.issues) throw new ValidationError(toIssues(place, result.issues, value));
  return result.value;
}

function typeOf(issue: SchemaIssue): string {
  if (typeof issue.code === "string") return issue.code;
  return typeof issue.type === "string" ? issue.type : "value_error";
}

/** zod's, of an object that takes no others than its own. */
function unrecognizedKeys(issue: SchemaIssue & { readonly keys?: unknown }, limit: number): string[] | undefined {
  const isList = issue.code === "unrecognized_keys" && Array.isArray(issue.keys);
  return isList ? (issue.keys as unknown[]).slice(0, limit).map(String) : undefined;
}

function keyOf(key: PropertyKey): string | number {
  return typeof key === "symbol" ? String(key) : key;
}
