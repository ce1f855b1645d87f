import { isToken } from "../../../http/fields/headers.js";
import { percentDecoded } from "../../../kit/encoding.js";
import { ValueError } from "../../../kit/value-error.js";

/** The limits of W3C Baggage, section 3.3.2: everything up to them is passed on. */
const maxMembers = 64;
const maxLength = 8192;

interface Member {
  readonly value: string;
  /** The properties behind the value, as received: `;ttl=5`. */
  readonly properties: string;
}

/**
 * Values that travel with a trace from service to service (W3C Baggage). A received header is parsed when it is first
 * needed.
 */
export class Baggage {
  readonly #raw: string;
  #members: ReadonlyMap<string, Member> | null;

  private constructor(raw: string, members: ReadonlyMap<string, Member> | null) {
    this.#raw = raw;
    this.#members = members;
  }

  static received(header: string): Baggage {
    return new Baggage(header, null);
  }

  /** A copy with these values; undefined removes one. */
  static with(base: Baggage | null, values: Readonly<Record<string, string | undefined>>): Baggage {
    const members = new Map(base === null ? [] : base.#read());
    for (const [name, value] of Object.entries(values)) {
      if (!isToken(name)) throw new ValueError(`${JSON.stringify(name)} cannot be a name in baggage`);
      if (value === undefined) members.delete(name);
      else members.set(name, { value: String(value), properties: "" });
    }
    return new Baggage("", members);
  }

  static of(entries: Iterable<readonly [name: string, value: string, properties: string]>): Baggage {
    const members = new Map<string, Member>();
    for (const [name, value, properties] of entries) {
      if (isToken(name)) members.set(name, { value, properties: propertyList(properties) });
    }
    return new Baggage("", members);
  }

  get(name: string): string | undefined {
    return this.#read().get(name)?.value;
  }

  entries(): [name: string, value: string, properties: string][] {
    return [...this.#read()].map(([name, { value, properties }]) => [name, value, properties]);
  }

  /** The header to pass on; empty if there is nothing valid to pass on. */
  get header(): string {
    let text = "";
    let count = 0;
    for (const [name, { value, properties }] of this.#read()) {
      const member = `${name}=${encodeValue(value)}${properties}`;
      if (count === maxMembers || text.length + member.length + 1 > maxLength) break;
      text += count++ === 0 ? member : `,${member}`;
    }
    return text;
  }

  #read(): ReadonlyMap<string, Member> {
    return (this.#members ??= parse(this.#raw));
  }
}

/** Entries that are not valid are left out. */
function parse(raw: string): Map<string, Member> {
  const members = new Map<string, Member>();
  for (const part of raw.slice(0, maxLength).split(",", maxMembers)) {
    const [pair = "", ...properties] = part.split(";");
    const equals = pair.indexOf("=");
    if (equals < 0) continue;
    const name = pair.slice(0, equals).trim();
    const value = decodeValue(pair.slice(equals + 1).trim());
    if (!isToken(name) || value === null) continue;
    members.set(name, { value, properties: propertyList(properties.join(";")) });
  }
  return members;
}

const octets = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;
const propertyText = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e \t]+$/;

/** The valid properties, each behind a semicolon. */
function propertyList(text: string): string {
  const kept = text.split(";").map((property) => property.trim());
  return kept
    .filter((property) => isProperty(property))
    .map((property) => `;${property}`)
    .join("");
}

function isProperty(text: string): boolean {
  const equals = text.indexOf("=");
  return isToken((equals < 0 ? text : text.slice(0, equals)).trim()) && propertyText.test(text);
}

function decodeValue(text: string): string | null {
  return octets.test(text) ? percentDecoded(text) : null;
}

function encodeValue(text: string): string {
  return octets.test(text) && !text.includes("%") ? text : encodeURIComponent(text.toWellFormed());
}
