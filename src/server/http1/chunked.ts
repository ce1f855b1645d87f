const CR = 0x0d;
const LF = 0x0a;

// The part that the next byte belongs to.
const SIZE_FIRST = 0;
const SIZE = 1;
const EXTENSION = 2;
const SIZE_LF = 3;
const DATA = 4;
const DATA_CR = 5;
const DATA_LF = 6;
const TRAILER_START = 7;
const TRAILER = 8;
const TRAILER_LF = 9;
const LAST_LF = 10;
const DONE = 11;

const maxSizeDigits = 16;
const maxExtensions = 1024;
const maxTrailers = 8 * 1024;

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const blank = "[ \\t]*";
const quoted = '"(?:[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\t\\x20-\\x7e])*"';
/** RFC 9112 section 7.1.1. */
const extension = new RegExp(`^(?:;${blank}${token}(?:${blank}=${blank}(?:${token}|${quoted}))?)+$`);
const trailerLine = new RegExp(`^${token}:[\\t\\x20-\\x7e\\x80-\\xff]*$`);
/** RFC 9110 section 6.5.1 bans them from trailers; another server might trust them. */
const framingField = /^(?:content-length|transfer-encoding):/i;

/**
 * Takes the chunked coding off a body (RFC 9112 section 7.1) as it arrives. The data is moved together inside the bytes
 * given, so that any number of chunks costs one piece per packet. Extensions and trailers are checked, bounded and dropped.
 */
export class ChunkedDecoder {
  /** The end of the data of the last call; the data begins at the start of the call. */
  dataEnd = 0;
  malformed = false;
  #state = SIZE_FIRST;
  #size = 0;
  #digits = 0;
  #line = "";
  #extensions = 0;
  #trailers = 0;

  get done(): boolean {
    return this.#state === DONE;
  }

  /** Returns the end of the bytes that were used: all of them unless the body is done or malformed. */
  decode(bytes: Buffer, start: number, end: number): number {
    let pos = start;
    let out = start;
    while (pos < end && this.#state !== DONE && !this.malformed) {
      if (this.#state === DATA) {
        const count = Math.min(this.#size, end - pos);
        if (pos !== out) move(bytes, out, pos, count);
        out += count;
        pos += count;
        this.#size -= count;
        if (this.#size === 0) this.#state = DATA_CR;
      } else {
        this.#step(bytes[pos++]!);
      }
    }
    this.dataEnd = out;
    return pos;
  }

  #step(byte: number): void {
    switch (this.#state) {
      case SIZE_FIRST:
      case SIZE:
        this.#sizeByte(byte);
        return;
      case EXTENSION:
        this.#extensionByte(byte);
        return;
      case SIZE_LF:
        this.#expect(byte, LF, this.#size === 0 ? TRAILER_START : DATA);
        return;
      case DATA_CR:
        this.#expect(byte, CR, DATA_LF);
        return;
      case DATA_LF:
        this.#expect(byte, LF, SIZE_FIRST);
        this.#size = 0;
        this.#digits = 0;
        return;
      case TRAILER_START:
        this.#line = "";
        if (byte === CR) this.#state = LAST_LF;
        else {
          this.#state = TRAILER;
          this.#trailerByte(byte);
        }
        return;
      case TRAILER:
        this.#trailerByte(byte);
        return;
      case TRAILER_LF:
        this.#expect(byte, LF, TRAILER_START);
        return;
      default:
        this.#expect(byte, LF, DONE);
    }
  }

  #sizeByte(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      this.#state = SIZE;
      this.#size = this.#size * 16 + digit;
      if (++this.#digits > maxSizeDigits || this.#size > Number.MAX_SAFE_INTEGER) this.malformed = true;
    } else if (this.#state === SIZE_FIRST) {
      this.malformed = true;
    } else if (byte === CR) {
      this.#state = SIZE_LF;
    } else if (byte === 0x3b) {
      this.#state = EXTENSION;
      this.#line = ";";
    } else {
      this.malformed = true;
    }
  }

  #extensionByte(byte: number): void {
    if (byte === CR) {
      this.#state = SIZE_LF;
      if (!extension.test(this.#line)) this.malformed = true;
    } else if (++this.#extensions > maxExtensions || !isText(byte)) {
      this.malformed = true;
    } else {
      this.#line += String.fromCharCode(byte);
    }
  }

  #trailerByte(byte: number): void {
    if (byte === CR) {
      this.#state = TRAILER_LF;
      if (!trailerLine.test(this.#line) || framingField.test(this.#line)) this.malformed = true;
    } else if (++this.#trailers > maxTrailers || !isText(byte)) {
      this.malformed = true;
    } else {
      this.#line += String.fromCharCode(byte);
    }
  }

  #expect(byte: number, wanted: number, next: number): void {
    if (byte === wanted) this.#state = next;
    else this.malformed = true;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isText(byte: number): boolean {
  return byte === 0x09 || (byte >= 0x20 && byte !== 0x7f);
}

/** A loop beats the call into native code for the few bytes that hostile chunks have. */
function move(bytes: Buffer, to: number, from: number, count: number): void {
  if (count > 32) bytes.copyWithin(to, from, from + count);
  else for (let i = 0; i < count; i++) bytes[to + i] = bytes[from + i]!;
}
