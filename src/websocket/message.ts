import { parseJson } from "../http/json/json.js";

/** A message as it was received: text or bytes. */
export class Message {
  readonly #data: Buffer;
  readonly #binary: boolean;
  #text: string | undefined;

  constructor(data: Buffer, binary: boolean) {
    this.#data = data;
    this.#binary = binary;
  }

  /** The text of a text message; undefined for a binary one. */
  get text(): string | undefined {
    if (this.#binary) return undefined;
    return (this.#text ??= this.#data.toString("utf8"));
  }

  /** The bytes of a binary message; undefined for a text one. */
  get bytes(): Uint8Array | undefined {
    return this.#binary ? this.#data : undefined;
  }

  /** The message parsed as JSON, with the same strictness as the body of a request; throws when it is none. */
  json<T = unknown>(): T {
    return parseJson(this.#data) as T;
  }
}
