import { httpError } from "../../errors/http-error.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import type { Check } from "../../kit/options.js";
import { type PartHead, parsePartHead } from "./part-head.js";

const limit: Check<number> = (value) =>
  typeof value === "number" && value >= 0 ? undefined : "a number of at least 0";

const multipartLimits = options("the limits of a form", {
  /** Parts in all, fields and files together. Default 1000. */
  maxParts: option(limit, 1000),
  /** Files. Default 100. */
  maxFiles: option(limit, 100),
  /** Bytes of one field that is not a file. Default 1 MiB. */
  maxFieldSize: option(limit, 1024 * 1024),
  /** Bytes of one file. Default: only the whole body is bounded. */
  maxFileSize: option(limit, Number.POSITIVE_INFINITY),
  /** Bytes of the header fields of one part. Default 16 KiB. */
  maxHeaderSize: option(limit, 16 * 1024),
});

/** Bounds on a multipart body, beside the limit on the body as a whole. */
export interface MultipartLimits extends OptionsOf<typeof multipartLimits.fields> {}

export type MultipartEvent =
  | { readonly kind: "part"; readonly head: PartHead }
  /** A piece of the part's content: a view of what was fed. */
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "part-end" }
  | { readonly kind: "end" };

type State = "start" | "preamble" | "delimiter" | "head" | "content" | "close" | "epilogue";

/**
 * Reads a multipart body (RFC 2046 section 5.1.1) from pieces that are fed as they arrive. `next` returns the next
 * event, or undefined if it needs another piece. It keeps no more than the head of a part, or the possible beginning of
 * a delimiter.
 */
export class MultipartParser {
  /** CRLF, "--" and the boundary: the end of a part. */
  readonly #delimiter: Buffer;
  readonly #limits: SettingsOf<typeof multipartLimits.fields>;
  #state: State = "start";
  #buffer: Buffer = Buffer.alloc(0);
  #position = 0;
  #parts = 0;
  #files = 0;
  #inPart = false;
  /** True while the CRLF of the empty line after a part's head has not been read. */
  #atContentStart = false;
  /** Bytes that the part being read may still have. */
  #room = 0;

  constructor(boundary: string, limits?: MultipartLimits) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
    this.#limits = multipartLimits.read([limits]);
  }

  feed(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const kept = this.#buffer.subarray(this.#position);
    this.#buffer = kept.length === 0 ? bytes : Buffer.concat([kept, bytes]);
    this.#position = 0;
  }

  /** Call it after the last piece: throws if the body is incomplete. */
  finish(): void {
    if (this.#state !== "epilogue" && !(this.#state === "close" && this.#left === 0)) {
      throw httpError("MALFORMED_FORM", "The form ended before its closing boundary.");
    }
  }

  next(): MultipartEvent | undefined {
    for (;;) {
      switch (this.#state) {
        case "start": {
          const opening = this.#delimiter.subarray(2);
          if (!startsAlike(this.#buffer, opening)) this.#state = "preamble";
          else if (this.#buffer.length < opening.length) return undefined;
          else this.#passDelimiter(-2);
          break;
        }
        case "preamble": {
          const found = this.#buffer.indexOf(this.#delimiter, this.#position);
          if (found === -1) {
            this.#position = this.#safeEnd();
            return undefined;
          }
          this.#passDelimiter(found);
          break;
        }
        case "delimiter": {
          if (this.#inPart) {
            this.#inPart = false;
            return { kind: "part-end" };
          }
          if (!this.#readDelimiterEnd()) return undefined;
          break;
        }
        case "head":
          return this.#readHead();
        case "content": {
          const event = this.#readContent();
          if (event) return event;
          if (this.#state === "content") return undefined;
          break;
        }
        case "close":
          if (!this.#readLineEnd("epilogue")) return this.#left === 0 ? end : undefined;
          break;
        case "epilogue":
          this.#position = this.#buffer.length;
          return end;
      }
    }
  }

  get #left(): number {
    return this.#buffer.length - this.#position;
  }

  #passDelimiter(found: number): void {
    this.#position = found + this.#delimiter.length;
    this.#state = "delimiter";
  }

  /** Reads the end of a delimiter: "--" after the last part, else the end of the line. */
  #readDelimiterEnd(): boolean {
    if (this.#left < 2) return false;
    if (this.#buffer[this.#position] === dash && this.#buffer[this.#position + 1] === dash) {
      this.#position += 2;
      this.#state = "close";
      return true;
    }
    return this.#readLineEnd("head");
  }

  /**
   * Skips padding up to a CRLF. Before a head the CRLF is kept, so that a head without fields also ends with an empty
   * line.
   */
  #readLineEnd(next: "head" | "epilogue"): boolean {
    const buffer = this.#buffer;
    while (buffer[this.#position] === 0x20 || buffer[this.#position] === 0x09) this.#position++;
    if (this.#left === 0 || (this.#left === 1 && buffer[this.#position] === carriageReturn)) return false;
    if (buffer[this.#position] !== carriageReturn || buffer[this.#position + 1] !== lineFeed) {
      throw httpError("MALFORMED_FORM", "A boundary of the form is not followed by the end of its line.");
    }
    this.#state = next;
    return true;
  }

  #readHead(): MultipartEvent | undefined {
    const { maxHeaderSize, maxParts, maxFiles, maxFileSize, maxFieldSize } = this.#limits;
    const found = this.#buffer.indexOf("\r\n\r\n", this.#position, "latin1");
    // Three bytes at the end may belong to an empty line that has not arrived whole; two at the beginning are a CRLF.
    const size = (found === -1 ? this.#buffer.length - 3 : found) - this.#position - 2;
    if (size > maxHeaderSize) throw httpError("PAYLOAD_TOO_LARGE", "The header of a part is larger than allowed.");
    if (found === -1) return undefined;
    if (++this.#parts > maxParts) throw httpError("PAYLOAD_TOO_LARGE", "The form has more parts than allowed.");
    const head = parsePartHead(this.#buffer.subarray(Math.min(this.#position + 2, found), found));
    if (head.isFile && ++this.#files > maxFiles) {
      throw httpError("PAYLOAD_TOO_LARGE", "The form has more files than allowed.");
    }
    this.#room = head.isFile ? maxFileSize : maxFieldSize;
    // The CRLF of the empty line stays: it begins the delimiter of a part without content.
    this.#position = found + 2;
    this.#inPart = true;
    this.#state = "content";
    this.#atContentStart = true;
    return { kind: "part", head };
  }

  /** The next piece of content; undefined when more must be fed, or when the state has moved on to the delimiter. */
  #readContent(): MultipartEvent | undefined {
    const found = this.#buffer.indexOf(this.#delimiter, this.#position);
    const stop = found === -1 ? this.#safeEnd() : found;
    let start = this.#position;
    if (this.#atContentStart && found !== start) {
      // Not a delimiter, so the CRLF is the end of the empty line; it may be all there is as yet.
      if (stop < start + 2) return undefined;
      start += 2;
      this.#atContentStart = false;
    }
    if (found === -1) this.#position = stop;
    else this.#passDelimiter(found);
    const size = stop - start;
    if (size === 0) return undefined;
    this.#room -= size;
    if (this.#room < 0) throw httpError("PAYLOAD_TOO_LARGE", "A part of the form is larger than allowed.");
    return { kind: "data", bytes: this.#buffer.subarray(start, stop) };
  }

  /** The end of the bytes that certainly hold no delimiter, not even the beginning of one. */
  #safeEnd(): number {
    const from = Math.max(this.#position, this.#buffer.length - this.#delimiter.length + 1);
    const candidate = this.#buffer.indexOf(carriageReturn, from);
    return candidate === -1 ? this.#buffer.length : candidate;
  }
}

const dash = 0x2d;
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const end: MultipartEvent = { kind: "end" };

function startsAlike(a: Buffer, b: Buffer): boolean {
  const length = Math.min(a.length, b.length);
  return a.compare(b, 0, length, 0, length) === 0;
}
