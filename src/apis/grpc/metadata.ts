import { inspectSymbol } from "../../kit/node-modules.js";
import { ValueError } from "../../kit/value-error.js";
import { isSecretName, redacted } from "../../logging/secrets.js";

/** Metadata as a caller gives it: text, or bytes for names that end in `-bin`. */
export type MetadataInit =
  | Metadata
  | Readonly<Record<string, MetadataValue | readonly MetadataValue[]>>
  | Iterable<readonly [name: string, value: MetadataValue]>;
export type MetadataValue = string | Uint8Array;

/** A name of metadata (gRPC over HTTP/2, "Custom-Metadata"). */
const nameForm = /^[0-9a-z_.-]+$/;
/** Bytes of all lines. Beyond 64 KiB, node:http2 breaks off the stream without a word about the reason. */
const maxBytes = 48 * 1024;
/** Printable ASCII. */
const textForm = /^[\x20-\x7e]*$/;

/**
 * The metadata of a call: names with one or more values. Names are in lower case. The values of names that end in `-bin`
 * are bytes.
 */
export class Metadata implements Iterable<[name: string, value: MetadataValue]> {
  readonly #lines: [name: string, value: MetadataValue][] = [];

  constructor(init?: MetadataInit) {
    if (init === undefined) return;
    const entries = Symbol.iterator in init ? init : Object.entries(init);
    for (const [name, value] of entries as Iterable<[string, MetadataValue | readonly MetadataValue[]]>) {
      for (const item of isList(value) ? value : [value]) this.append(name, item);
    }
  }

  get size(): number {
    return this.#lines.length;
  }

  /** The first value as text; undefined if there is none. */
  get(name: string): string | undefined {
    const value = this.#find(name);
    return value instanceof Uint8Array ? base64(value) : value;
  }

  /** The first value of a name that ends in `-bin`, as bytes. */
  getBytes(name: string): Uint8Array | undefined {
    const value = this.#find(name);
    return typeof value === "string" ? undefined : value;
  }

  /** All values of a name. */
  getAll(name: string): MetadataValue[] {
    const wanted = name.toLowerCase();
    return this.#lines.filter(([known]) => known === wanted).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  /** Sets a value in place of all others of the name. */
  set(name: string, value: MetadataValue): this {
    const line = checked(name, value);
    this.delete(name);
    this.#add(line);
    return this;
  }

  /** Adds a value beside others of the name. */
  append(name: string, value: MetadataValue): this {
    this.#add(checked(name, value));
    return this;
  }

  delete(name: string): boolean {
    const wanted = name.toLowerCase();
    const kept = this.#lines.filter(([known]) => known !== wanted);
    if (kept.length === this.#lines.length) return false;
    this.#lines.splice(0, this.#lines.length, ...kept);
    return true;
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: MetadataValue]> {
    return this.#lines[Symbol.iterator]();
  }

  /** The metadata in a log line: without the values of names such as `authorization`. */
  toJSON(): Record<string, string[]> {
    const all: Record<string, string[]> = Object.create(null);
    for (const [name, value] of this.wire()) (all[name] ??= []).push(isSecretName(name) ? redacted : value);
    return all;
  }

  [inspectSymbol](_depth: number, options: object, show: (value: object, options: object) => string): string {
    return `Metadata ${show({ ...this.toJSON() }, options)}`;
  }

  #add(line: [name: string, value: MetadataValue]): void {
    let bytes = 0;
    for (const one of this.#lines) bytes += sizeOf(one);
    if (bytes + sizeOf(line) > maxBytes) {
      throw new ValueError(`metadata of more than ${maxBytes} bytes cannot be sent: put large values into messages`);
    }
    this.#lines.push(line);
  }

  #find(name: string): MetadataValue | undefined {
    const wanted = name.toLowerCase();
    return this.#lines.find(([known]) => known === wanted)?.[1];
  }

  /** @internal Adds a line that a peer sent. A value that is not allowed is left out. */
  receive(name: string, value: string): void {
    if (name.endsWith("-bin")) for (const part of value.split(",")) this.#lines.push([name, bytesOf(part)]);
    else this.#lines.push([name, value]);
  }

  /** @internal The lines as they are sent. */
  *wire(): IterableIterator<[name: string, value: string]> {
    for (const [name, value] of this.#lines) yield [name, typeof value === "string" ? value : base64(value)];
  }
}

/** About the bytes of a line in HTTP/2 before it is compressed. */
function sizeOf([name, value]: readonly [name: string, value: MetadataValue]): number {
  return name.length + (typeof value === "string" ? value.length : Math.ceil(value.length / 3) * 4) + 32;
}

/** Names that belong to HTTP or to gRPC itself. */
const reserved: ReadonlySet<string> = new Set(
  (
    "connection host te content-type content-length content-encoding accept-encoding transfer-encoding keep-alive " +
    "proxy-connection upgrade trailer accept"
  ).split(" "),
);

/** The time in milliseconds after which a client may send a call again, in the trailers of a failed call (gRFC A6). */
export const retryPushback = "grpc-retry-pushback-ms";
/** The number of attempts of a call before this one (gRFC A6). */
export const previousAttempts = "grpc-previous-rpc-attempts";

/** True for a header that is no metadata of the application. */
export function isReserved(name: string): boolean {
  if (name === retryPushback || name === previousAttempts) return false;
  return name.startsWith(":") || name.startsWith("grpc-") || name.startsWith("connect-") || reserved.has(name);
}

/** The metadata in header lines: names and values in turn. */
export function readMetadata(lines: readonly string[]): Metadata {
  const metadata = new Metadata();
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i]!.toLowerCase();
    if (!isReserved(name)) metadata.receive(name, lines[i + 1]!);
  }
  return metadata;
}

function checked(given: string, value: MetadataValue): [string, MetadataValue] {
  const name = String(given).toLowerCase();
  if (!nameForm.test(name)) throw new ValueError(`${JSON.stringify(given)} is not a name of metadata`);
  if (isReserved(name)) throw new ValueError(`the metadata '${name}' belongs to the protocol`);
  if (name.endsWith("-bin")) {
    if (value instanceof Uint8Array) return [name, value];
    throw new ValueError(`the metadata '${name}' takes bytes: its name ends in '-bin'`);
  }
  if (typeof value !== "string")
    throw new ValueError(`the metadata '${name}' takes text: its name does not end in '-bin'`);
  if (!textForm.test(value)) {
    throw new ValueError(
      `the value of metadata '${name}' holds a character that cannot be sent; use a name with '-bin'`,
    );
  }
  return [name, value];
}

function isList(value: MetadataValue | readonly MetadataValue[]): value is readonly MetadataValue[] {
  return Array.isArray(value);
}

/** Without padding, as gRPC asks for. */
export function base64(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  const end = text.indexOf("=");
  return end === -1 ? text : text.slice(0, end);
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.trim(), "base64"));
}
