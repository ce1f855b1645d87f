import type { SchemaIssue } from "./standard-schema.js";

/** Replaces a message that contains input of the client. */
const vague = "Invalid value";

/** The properties that libraries add to the standard's issue. They help to remove the input from the messages. */
interface LibraryIssue extends SchemaIssue {
  /** valibot: the input as the message shows it. */
  readonly received?: unknown;
  /** arktype: the same. */
  readonly actual?: unknown;
}

/**
 * A library's message without the input. valibot and arktype quote the input, and a message written by a schema's
 * author may do so too; a response or a log must not show a password. `texts` caches the texts of values that several
 * issues are about: a thousand issues may be about one object with a hundred thousand keys.
 */
export function safeMessage(issue: SchemaIssue, input: unknown, texts: Map<unknown, readonly string[]>): string {
  const message = withoutQuotation(issue);
  const value = valueAt(input, issue.path ?? []);
  let found = texts.get(value);
  if (found === undefined) texts.set(value, (found = textsIn(value)));
  for (const text of found) if (mentions(message, text)) return vague;
  return message;
}

function withoutQuotation(issue: LibraryIssue): string {
  const { message, received, actual } = issue;
  if (typeof received === "string") {
    for (const ending of [` but received ${received}`, `: Received ${received}`]) {
      if (message.endsWith(ending)) return message.slice(0, -ending.length);
    }
  }
  return typeof actual === "string" && actual !== "" ? message.replaceAll(` (was ${actual})`, "") : message;
}

function valueAt(input: unknown, path: NonNullable<SchemaIssue["path"]>): unknown {
  let value = input;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return undefined;
    const key = typeof part === "object" ? part.key : part;
    value = Object.hasOwn(value, key) ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  }
  return value;
}

/** The largest number of texts to compare: no message quotes a thousand values. */
const maxTexts = 1000;

/** The texts and numbers in a value, as many as are needed. Its depth is bounded: it was JSON, or flat. */
function textsIn(value: unknown, found: string[] = []): string[] {
  if (typeof value === "string") found.push(value);
  else if (typeof value === "number" || typeof value === "bigint") found.push(String(value));
  else if (typeof value === "object" && value !== null) {
    const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (let i = 0; i < items.length && found.length < maxTexts; i++) textsIn(items[i], found);
  }
  return found;
}

/**
 * True if a message contains a text: in quotation marks, or without them if that is hardly a coincidence. A short word
 * may be one of the message's own ("taken"), a short number the limit that it names.
 */
function mentions(message: string, text: string): boolean {
  if (text === "" || text.length > message.length) return false;
  // Most texts: neither in the message, nor written otherwise in JSON.
  if (!message.includes(text) && !escapedInJson.test(text)) return false;
  if (["'", "`"].some((mark) => message.includes(mark + text + mark)) || message.includes(JSON.stringify(text)))
    return true;
  if (text.length < 8 && /^(?:\p{L}*|[\d.+-]*)$/u.test(text)) return false;
  for (let at = message.indexOf(text); at !== -1; at = message.indexOf(text, at + 1)) {
    if (!isWord(message[at - 1]) && !isWord(message[at + text.length])) return true;
  }
  return false;
}

const escapedInJson = /["\\\x00-\x1f\ud800-\udfff]/;

function isWord(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character);
}
