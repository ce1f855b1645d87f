import { isAscii } from "node:buffer";
import { isoText, parseTimestamp } from "../../engines/db/values/timestamps.js";
import type { RowSink, WireRow } from "../../engines/db/wire-row.js";
import { grown } from "../../kit/encoding.js";
import type { JsonPlan } from "../compile/json/json-plan.js";
import { type Form, form, type JsonTemplate, templateFor } from "./json-template.js";

/** Writes rows as JSON directly from the bytes that PostgreSQL sent, without a conversion to values. */
export class JsonRows implements RowSink {
  #template: JsonTemplate | null = null;
  #bytes: Buffer = noBytes;
  #length = 0;

  constructor(private readonly plan: JsonPlan) {}

  begin(types: readonly number[]): void {
    this.#template = templateFor(this.plan, types);
    if (this.#bytes === noBytes) this.#bytes = spare.pop() ?? Buffer.allocUnsafeSlow(usualSize);
    this.#length = 0;
  }

  row(row: WireRow): void {
    this.#copy(this.#length === 0 ? opening : comma);
    this.#object(this.#template!, row);
  }

  /** The JSON of all rows, as a list. Call it only once. */
  text(): string {
    if (this.#length === 0) this.#copy(opening);
    this.#copy(closing);
    const written = this.#bytes.subarray(0, this.#length);
    const text = written.toString(isAscii(written) ? "latin1" : "utf8");
    if (this.#bytes.length <= largestSpare && spare.length < mostSpare) spare.push(this.#bytes);
    this.#bytes = noBytes;
    return text;
  }

  #object({ open, close, heads, places, forms, objects }: JsonTemplate, row: WireRow): void {
    this.#copy(open);
    for (let i = 0; i < heads.length; i++) {
      const place = places[i]!;
      const start = row.starts[place]!;
      const object = objects[i]!;
      this.#copy(heads[i]!);
      if (start === -1) this.#copy(nullText);
      else if (object === null) this.#value(forms[i]!, row.bytes, start, row.ends[place]!);
      else this.#object(object, row);
    }
    this.#copy(close);
  }

  #value(how: Form, bytes: Buffer, start: number, end: number): void {
    switch (how) {
      case form.asIs:
        this.#copy(bytes, start, end);
        break;
      case form.bare:
        this.#copy(quote);
        this.#copy(bytes, start, end);
        this.#copy(quote);
        break;
      case form.quoted:
        this.#quoted(bytes, start, end);
        break;
      case form.boolean:
        this.#copy(bytes[start] === t ? trueText : falseText);
        break;
      case form.finite:
        if (bytes[end - 1]! >= letters) this.#copy(nullText);
        else this.#copy(bytes, start, end);
        break;
      case form.moment:
        this.#moment(bytes, start, end);
        break;
    }
  }

  #copy(bytes: Buffer, start = 0, end: number = bytes.length): void {
    const length = end - start;
    this.#reserve(length);
    if (length > shortest) {
      bytes.copy(this.#bytes, this.#length, start, end);
      this.#length += length;
      return;
    }
    const target = this.#bytes;
    let at = this.#length;
    for (let i = start; i < end; i++) target[at++] = bytes[i]!;
    this.#length = at;
  }

  #quoted(bytes: Buffer, start: number, end: number): void {
    this.#reserve(end - start + 2);
    const target = this.#bytes;
    let at = this.#length;
    target[at++] = quoteByte;
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!;
      if (byte === quoteByte || byte === backslash || byte < space) {
        this.#write(JSON.stringify(bytes.toString("utf8", start, end)));
        return;
      }
      target[at++] = byte;
    }
    target[at++] = quoteByte;
    this.#length = at;
  }

  /**
   * Converts `2024-01-31 12:00:00.5+00`, as a session in UTC sends it, to `2024-01-31T12:00:00.500Z` without
   * arithmetic.
   */
  #moment(bytes: Buffer, start: number, end: number): void {
    const stop = end - 3;
    if (bytes[start + 10] !== space || bytes[stop] !== plus || bytes[stop + 1] !== zero || bytes[stop + 2] !== zero) {
      const value = parseTimestamp(bytes.toString("latin1", start, end));
      this.#write(typeof value === "number" ? "null" : JSON.stringify(isoText(value)));
      return;
    }
    this.#reserve(26);
    const target = this.#bytes;
    let at = this.#length;
    target[at++] = quoteByte;
    for (let i = 0; i < 19; i++) target[at++] = i === 10 ? upperT : bytes[start + i]!;
    target[at++] = dot;
    for (let i = start + 20; i < start + 23; i++) target[at++] = i < stop ? bytes[i]! : zero;
    target[at++] = upperZ;
    target[at++] = quoteByte;
    this.#length = at;
  }

  #write(text: string): void {
    this.#reserve(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length);
  }

  #reserve(length: number): void {
    const needed = this.#length + length;
    if (needed > this.#bytes.length) this.#bytes = grown(this.#bytes, this.#length, needed);
  }
}

const noBytes = Buffer.alloc(0);
/** Used buffers that can be used again. */
const spare: Buffer[] = [];
const mostSpare = 16;
const usualSize = 32_768;
const largestSpare = 262_144;
/** Up to this length, a loop copies faster than a call. */
const shortest = 64;

const opening = Buffer.from("[");
const comma = Buffer.from(",");
const closing = Buffer.from("]");
const quote = Buffer.from('"');
const nullText = Buffer.from("null");
const trueText = Buffer.from("true");
const falseText = Buffer.from("false");

const quoteByte = 34;
const backslash = 92;
const space = 32;
const plus = 43;
const dot = 46;
const zero = 48;
const letters = 65;
const upperT = 84;
const upperZ = 90;
const t = 116;
