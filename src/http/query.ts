/** The query parameters of a request. They are parsed on first use. */
export class Query implements Iterable<[name: string, value: string]> {
  /** Names and values in turn. */
  readonly #pairs: readonly string[];

  /** `start` is the position of the first parameter in the text. */
  constructor(text: string, start = 0) {
    if (text.includes("%") || text.includes("+")) this.#pairs = decodeText(text, start);
    else this.#pairs = splitPairs(text, start);
  }

  /** The number of parameters. */
  get size(): number {
    return this.#pairs.length / 2;
  }

  /** The first value of a name, or undefined if the name does not occur. */
  get(name: string): string | undefined {
    const pairs = this.#pairs;
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) return pairs[i + 1];
    return undefined;
  }

  /** All values of a name, in order. */
  getAll(name: string): string[] {
    return this.#pairs.filter((_, index) => index % 2 === 1 && this.#pairs[index - 1] === name);
  }

  /** True if the name occurs, even without a value. */
  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** All names and values, in order. */
  *entries(): IterableIterator<[name: string, value: string]> {
    for (let i = 0; i < this.#pairs.length; i += 2) yield [this.#pairs[i]!, this.#pairs[i + 1]!];
  }

  /** All names, each once. */
  *keys(): IterableIterator<string> {
    yield* new Set(this.#pairs.filter((_, index) => index % 2 === 0));
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries();
  }

  /** An object with one property per name: a string, or a list of strings if the name occurs several times. */
  toJSON(): Record<string, string | string[]> {
    return objectOf(this.entries());
  }
}

/** An object with one property per name: its value, or a list of values if the name occurs several times. */
export function objectOf<Value extends string | object>(
  pairs: Iterable<readonly [name: string, value: Value]>,
): Record<string, Value | Value[]> {
  const object: Record<string, Value | Value[]> = Object.create(null);
  for (const [name, value] of pairs) {
    const known = object[name];
    if (known === undefined) object[name] = value;
    else if (Array.isArray(known)) known.push(value);
    else object[name] = [known, value];
  }
  return object;
}

/** Names and values of a text without escapes. */
function splitPairs(text: string, start: number): string[] {
  const pairs: string[] = [];
  // The position of the next "=" is kept across pairs: to search it again for each pair without one is quadratic.
  let equals = -1;
  while (start < text.length) {
    if (text.charCodeAt(start) === ampersand) {
      start++;
      continue;
    }
    const end = indexOrEnd(text, "&", start);
    if (equals < start) equals = indexOrEnd(text, "=", start);
    if (equals > end || equals === text.length) pairs.push(text.slice(start, end), "");
    else pairs.push(text.slice(start, equals), text.slice(equals + 1, end));
    start = end + 1;
  }
  return pairs;
}

function indexOrEnd(text: string, searched: string, start: number): number {
  const found = text.indexOf(searched, start);
  return found === -1 ? text.length : found;
}

/** Names and values of a text with `+` or percent escapes. */
function decodeText(text: string, start: number): string[] {
  const raw = start === 0 ? text : text.slice(start);
  // A UTF-16 unit takes three bytes at most. A buffer for it would cost a short text more than decoding it.
  if (raw.length * 3 <= scratch.length) return decodePairs(scratch, scratch.write(raw, 0, "utf8"));
  const bytes = Buffer.from(raw, "utf8");
  return decodePairs(bytes, bytes.length);
}

/**
 * Names and values, in turn, of the first `size` bytes, which are overwritten. A malformed escape is kept as text, and
 * bytes that are not UTF-8 become U+FFFD, as in the URL standard.
 *
 * This is one pass, whatever the bytes are: `decodeURIComponent` throws on a malformed escape, which costs microseconds
 * for each pair, and text put together piece by piece takes many times its size in memory.
 */
export function decodePairs(bytes: Buffer, size: number): string[] {
  /** The end of each name and of each value in the decoded bytes; negative if one of its bytes is not ASCII. */
  const ends: number[] = [];
  let written = 0;
  let inName = true;
  for (let i = 0; i < size; i++) {
    // An empty pair, "&&", is none.
    if (inName && bytes[i] === ampersand) continue;
    let bits = 0;
    for (; i < size; i++) {
      let byte = bytes[i]!;
      if (byte === ampersand || (byte === equalsSign && inName)) break;
      if (byte === plus) byte = space;
      else if (byte === percent && i + 2 < size) {
        const code = hexValues[bytes[i + 1]!]! * 16 + hexValues[bytes[i + 2]!]!;
        if (code < 0x100) {
          byte = code;
          i += 2;
        }
      }
      bits |= byte;
      bytes[written++] = byte;
    }
    ends.push(bits < 0x80 ? written : -written);
    if (inName && i < size && bytes[i] === equalsSign) inName = false;
    else {
      if (inName) ends.push(written);
      inName = true;
    }
  }
  // The text ended with the "=" of a pair.
  if (!inName) ends.push(written);
  return stringsOf(bytes, ends, written);
}

/** The strings that end at these positions. ASCII ones are cut from one string, which is cheaper than decoding each. */
function stringsOf(bytes: Buffer, ends: readonly number[], size: number): string[] {
  const ascii = bytes.toString("latin1", 0, size);
  const strings: string[] = [];
  let from = 0;
  for (const end of ends) {
    const to = Math.abs(end);
    strings.push(end < 0 ? bytes.toString("utf8", from, to) : ascii.slice(from, to));
    from = to;
  }
  return strings;
}

const scratch: Buffer = Buffer.alloc(1536);
const ampersand = 0x26;
const equalsSign = 0x3d;
const plus = 0x2b;
const space = 0x20;
const percent = 0x25;
/** The value of each hexadecimal digit, by its byte; more than a byte holds for what is no digit. */
const hexValues: Uint16Array = new Uint16Array(256).fill(0x100);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  hexValues[digit.charCodeAt(0)] = value;
  hexValues[digit.toUpperCase().charCodeAt(0)] = value;
}
