import { httpError } from "../../errors/http-error.js";
import { utf8Of } from "../../kit/encoding.js";
import { parseParameters } from "../fields/parameters.js";
import { decodePairs, objectOf } from "../query.js";
import { checkFormText, formText, multipartBoundary } from "./multipart.js";
import { type MultipartLimits, MultipartParser } from "./multipart-parser.js";
import type { PartHead } from "./part-head.js";

/** A file in a form. */
export class FormFile {
  constructor(
    /** The name of the field. */
    readonly name: string,
    /** The file name from the client, without folders. */
    readonly filename: string,
    /** The content type from the client. Do not trust it. */
    readonly type: string,
    readonly bytes: Uint8Array,
  ) {}

  get size(): number {
    return this.bytes.length;
  }

  /** The content as text. Bytes that are not UTF-8 become U+FFFD. */
  text(): string {
    return utf8Of(this.bytes);
  }
}

export type FormValue = string | FormFile;

/** The fields and files of a form, in the order in which the client sent them. */
export class Form implements Iterable<[name: string, value: FormValue]> {
  readonly #entries: readonly (readonly [name: string, value: FormValue])[];

  constructor(entries: readonly (readonly [name: string, value: FormValue])[]) {
    this.#entries = entries;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** The first field or file with this name, or undefined. */
  get(name: string): FormValue | undefined {
    return this.#entries.find(([entry]) => entry === name)?.[1];
  }

  /** All fields and files with this name, in order. */
  getAll(name: string): FormValue[] {
    return this.#entries.filter(([entry]) => entry === name).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.#entries.some(([entry]) => entry === name);
  }

  /** The first file with this name, or undefined. */
  file(name: string): FormFile | undefined {
    return this.files.find((file) => file.name === name);
  }

  get files(): FormFile[] {
    return this.#entries.map(([, value]) => value).filter((value) => typeof value !== "string");
  }

  /** The names and values of all fields that are not files. */
  get fields(): [name: string, value: string][] {
    return [...this].filter((entry): entry is [string, string] => typeof entry[1] === "string");
  }

  *entries(): IterableIterator<[name: string, value: FormValue]> {
    for (const [name, value] of this.#entries) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    yield* new Set(this.#entries.map(([name]) => name));
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: FormValue]> {
    return this.entries();
  }

  /** The fields without the files: a string per name, or a list of strings if the name occurs several times. */
  toJSON(): Record<string, string | string[]> {
    return objectOf(this.fields);
  }
}

/** Parses a body as a form, by its content type. Another type is 415, a malformed form 400, a form beyond a limit 413. */
export function parseForm(contentType: string | undefined, bytes: Uint8Array, limits?: MultipartLimits): Form {
  const type = contentType === undefined ? undefined : parseParameters(contentType);
  if (type?.value === "application/x-www-form-urlencoded") return parseUrlencoded(bytes, limits);
  return parseMultipart(multipartBoundary(contentType), bytes, limits);
}

function parseUrlencoded(bytes: Uint8Array, limits: MultipartLimits | undefined): Form {
  checkFormText(bytes);
  const maxFields = limits?.maxParts ?? 1000;
  let fields = 1;
  for (let at = bytes.indexOf(ampersand); at !== -1; at = bytes.indexOf(ampersand, at + 1)) {
    if (++fields > maxFields) throw httpError("PAYLOAD_TOO_LARGE", "The form has more fields than allowed.");
  }
  // A copy, because the bytes are decoded in place.
  const pairs = decodePairs(Buffer.from(bytes), bytes.length);
  const entries: [string, string][] = [];
  for (let i = 0; i < pairs.length; i += 2) entries.push([pairs[i]!, pairs[i + 1]!]);
  return new Form(entries);
}

const ampersand = 0x26;

function parseMultipart(boundary: string, bytes: Uint8Array, limits: MultipartLimits | undefined): Form {
  const parser = new MultipartParser(boundary, limits);
  const entries: [string, FormValue][] = [];
  let head: PartHead | null = null;
  let content: Uint8Array = noBytes;
  parser.feed(bytes);
  for (let event = parser.next(); event && event.kind !== "end"; event = parser.next()) {
    if (event.kind === "part") {
      head = event.head;
      content = noBytes;
    } else if (event.kind === "data") {
      // The whole body was fed at once, so a part comes in one piece.
      content = event.bytes;
    } else if (head) {
      addEntry(entries, head, content);
    }
  }
  parser.finish();
  return new Form(entries);
}

const noBytes = new Uint8Array(0);

function addEntry(entries: [string, FormValue][], head: PartHead, content: Uint8Array): void {
  const { name, filename, contentType } = head;
  if (filename === undefined) entries.push([name, formText(content)]);
  // A browser sends a file input in which nothing was chosen as a nameless, empty file.
  else if (filename !== "" || content.length > 0) {
    entries.push([name, new FormFile(name, filename, contentType, content)]);
  }
}
