import { utf8Of } from "../../kit/encoding.js";
import { formText, multipartBoundary } from "./multipart.js";
import { type MultipartEvent, type MultipartLimits, MultipartParser } from "./multipart-parser.js";
import type { PartHead } from "./part-head.js";

/** A part of a multipart body. Read it with one of the three methods before asking for the next part. */
export interface Part extends PartHead {
  /** The content as it arrives. */
  stream(): AsyncIterableIterator<Uint8Array>;
  bytes(): Promise<Uint8Array>;
  /** The content as text. A field that is not UTF-8 throws 400; in a file such bytes become U+FFFD. */
  text(): Promise<string>;
}

/**
 * The parts of a multipart form, one after the other, as fast as they are read. The unread rest of a part is skipped
 * when the next part is requested.
 */
export async function* readParts(
  contentType: string | undefined,
  body: AsyncIterable<Uint8Array>,
  limits?: MultipartLimits,
): AsyncIterableIterator<Part> {
  const reader = new PartReader(new MultipartParser(multipartBoundary(contentType), limits), body);
  try {
    for (let event = await reader.read(); event.kind !== "end"; event = await reader.read()) {
      if (event.kind !== "part") continue;
      const part = new StreamedPart(event.head, reader);
      yield part;
      part.leave();
    }
    await reader.finish();
  } finally {
    await reader.close();
  }
}

/** Feeds the parser from the body, one piece at a time, as events are requested. */
class PartReader {
  readonly #parser: MultipartParser;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #reading = false;

  constructor(parser: MultipartParser, body: AsyncIterable<Uint8Array>) {
    this.#parser = parser;
    this.#chunks = body[Symbol.asyncIterator]();
  }

  async read(): Promise<MultipartEvent> {
    if (this.#reading) throw new Error("a part of the form is still being read: await it before the next is asked for");
    this.#reading = true;
    try {
      let event = this.#parser.next();
      while (!event) {
        await this.#feed();
        event = this.#parser.next();
      }
      return event;
    } finally {
      this.#reading = false;
    }
  }

  /** Reads what follows the last part, so that the connection can be used again. */
  async finish(): Promise<void> {
    while (await this.#feed()) this.#parser.next();
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #feed(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) this.#parser.finish();
    else this.#parser.feed(value);
    return !done;
  }
}

class StreamedPart implements Part {
  readonly name: string;
  readonly filename: string | undefined;
  readonly contentType: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly isFile: boolean;
  readonly #reader: PartReader;
  #state: "fresh" | "taken" | "left" = "fresh";

  constructor(head: PartHead, reader: PartReader) {
    this.name = head.name;
    this.filename = head.filename;
    this.contentType = head.contentType;
    this.headers = head.headers;
    this.isFile = head.isFile;
    this.#reader = reader;
  }

  stream(): AsyncIterableIterator<Uint8Array> {
    if (this.#state !== "fresh") {
      throw new Error(
        this.#state === "taken"
          ? "this part of the form has been read already"
          : "this part of the form can no longer be read: read each part before the next one",
      );
    }
    this.#state = "taken";
    return this.#pieces();
  }

  async bytes(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.stream()) pieces.push(piece);
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  async text(): Promise<string> {
    const bytes = await this.bytes();
    return this.isFile ? utf8Of(bytes) : formText(bytes);
  }

  leave(): void {
    this.#state = "left";
  }

  async *#pieces(): AsyncIterableIterator<Uint8Array> {
    for (;;) {
      if (this.#state === "left") {
        throw new Error("this part of the form can no longer be read: read each part before the next one");
      }
      const event = await this.#reader.read();
      if (event.kind !== "data") return;
      yield event.bytes;
    }
  }
}
