import type { Check } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { RequestSource } from "../source.js";

/** Header fields as a caller gives them. */
export type HeadersInit =
  | Readonly<Record<string, string | number | readonly string[]>>
  | Iterable<readonly [name: string, value: string]>;

/** The header fields of a request. Names are case-insensitive. */
export class RequestHeaders implements Iterable<[name: string, value: string]> {
  readonly #source: RequestSource;

  constructor(source: RequestSource) {
    this.#source = source;
  }

  /** The field's value; a repeated field's values joined by ", ". */
  get(name: string): string | undefined {
    return this.#source.header(name.toLowerCase());
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** Every value of a repeated field, one item per line received. */
  getAll(name: string): string[] {
    const wanted = name.toLowerCase();
    const lines = this.#source.headerLines();
    const values: string[] = [];
    for (let i = 0; i < lines.length; i += 2) {
      if (lines[i]!.toLowerCase() === wanted) values.push(lines[i + 1]!);
    }
    return values;
  }

  *entries(): IterableIterator<[name: string, value: string]> {
    const lines = this.#source.headerLines();
    for (let i = 0; i < lines.length; i += 2) yield [lines[i]!.toLowerCase(), lines[i + 1]!];
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries();
  }

  toJSON(): Record<string, string> {
    const joined: [string, string][] = [...new Set(this.keys())].map((name) => [name, this.get(name)!]);
    return Object.fromEntries(joined);
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }
}

/** The header fields of a response, as alternating names and values. The response itself keeps Content-Type. */
export class ResponseHeaders implements Iterable<[name: string, value: string]> {
  /** @internal */
  readonly owner: HeaderOwner;

  constructor(owner: HeaderOwner) {
    this.owner = owner;
  }

  /** The field's value; a repeated field's values joined by ", ". */
  get(name: string): string | undefined {
    const wanted = name.toLowerCase();
    if (wanted === "content-type") return this.owner.type ?? undefined;
    let found: string | undefined;
    for (const [field, value] of this.entries()) {
      if (field === wanted) found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** Sets the field, in place of every value it had. */
  set(name: string, value: string | number): this {
    this.delete(name);
    return this.append(name, value);
  }

  /** Adds a field beside those of the same name. */
  append(name: string, value: string | number): this {
    const text = String(value);
    checkHeader(name, text);
    if (name.toLowerCase() === "content-type") this.owner.type = text;
    else (this.owner.fields ??= []).push(name, text);
    return this;
  }

  delete(name: string): boolean {
    const wanted = name.toLowerCase();
    if (wanted === "content-type") {
      const had = this.owner.type !== null;
      this.owner.type = null;
      return had;
    }
    const fields = this.owner.fields;
    if (!fields) return false;
    const kept: string[] = [];
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i]!.toLowerCase() !== wanted) kept.push(fields[i]!, fields[i + 1]!);
    }
    this.owner.fields = kept.length ? kept : null;
    return kept.length < fields.length;
  }

  getSetCookie(): string[] {
    return [...this.entries()].filter(([name]) => name === "set-cookie").map(([, value]) => value);
  }

  *entries(): IterableIterator<[name: string, value: string]> {
    if (this.owner.type !== null) yield ["content-type", this.owner.type];
    const fields = this.owner.fields;
    if (fields) for (let i = 0; i < fields.length; i += 2) yield [fields[i]!.toLowerCase(), fields[i + 1]!];
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries();
  }
}

/** The part of a response that its headers use. */
export interface HeaderOwner {
  type: string | null;
  fields: string[] | null;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// A field value is visible characters, spaces and tabs, and bytes above 0x7F (RFC 9110 section 5.5). Anything else
// could end the line early, or cannot be sent in one byte.
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

export function isToken(text: string): boolean {
  return token.test(text);
}

export const isHeaderName: Check<string> = (value) =>
  typeof value === "string" && isToken(value) ? undefined : "the name of a header";

/** True if a text can be sent as the value of a field. */
export function isFieldValue(text: string): boolean {
  return fieldValue.test(text);
}

/** Throws when the field could not be sent, or would be read as something else by the receiver. */
export function checkHeader(name: string, value: string): void {
  if (!token.test(name)) throw new ValueError(`${JSON.stringify(name)} is not a valid header name`);
  if (!fieldValue.test(value)) {
    throw new ValueError(`the value of header '${name}' holds a character that cannot be sent in a header`);
  }
}
