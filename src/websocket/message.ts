import { parseJson } from "../http/json/json.js";

/** A message as it was received: text or bytes. */
export class Message {
  readonly #data: Buffer | string;
  readonly #binary: boolean;
  #text: string | undefined;

  constructor(data: Buffer | string, binary: boolean) {
    this.#data = data;
    this.#binary = binary;
  }

  /** The text of a text message; undefined for a binary one. */
  get text(): string | undefined {
    if (this.#binary) return undefined;
    return (this.#text ??= typeof this.#data === "string" ? this.#data : this.#data.toString("utf8"));
  }

  /** The bytes of a binary message; undefined for a text one. */
  get bytes(): Uint8Array | undefined {
    return this.#binary ? (this.#data as Buffer) : undefined;
  }

  /** The message parsed as JSON, with the same strictness as the body of a request; throws when it is none. */
  json<T = unknown>(): T {
    return parseJson(typeof this.#data === "string" ? Buffer.from(this.#data) : this.#data) as T;
  }
}
