/** The query parameters of a request, parsed when first asked for. */
export class Query implements Iterable<[name: string, value: string]> {
  /** Names and values in turn. */
  readonly #pairs: string[] = [];

  /** `start`: where the parameters begin in the text. */
  constructor(text: string, start = 0) {
    const escaped = text.includes("%") || text.includes("+");
    while (start < text.length) {
      let end = text.indexOf("&", start);
      if (end === -1) end = text.length;
      if (end > start) {
        const equals = text.indexOf("=", start);
        if (equals === -1 || equals > end) {
          this.#add(text.slice(start, end), "", escaped);
        } else {
          this.#add(text.slice(start, equals), text.slice(equals + 1, end), escaped);
        }
      }
      start = end + 1;
    }
  }

  #add(name: string, value: string, escaped: boolean): void {
    if (escaped) this.#pairs.push(decode(name), decode(value));
    else this.#pairs.push(name, value);
  }

  get size(): number {
    return this.#pairs.length / 2;
  }

  /** The first value given for a name. */
  get(name: string): string | undefined {
    const pairs = this.#pairs;
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) return pairs[i + 1];
    return undefined;
  }

  /** Every value given for a name, in order. */
  getAll(name: string): string[] {
    return this.#pairs.filter((_, index) => index % 2 === 1 && this.#pairs[index - 1] === name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  *entries(): IterableIterator<[name: string, value: string]> {
    for (let i = 0; i < this.#pairs.length; i += 2) yield [this.#pairs[i]!, this.#pairs[i + 1]!];
  }

  *keys(): IterableIterator<string> {
    yield* new Set(this.#pairs.filter((_, index) => index % 2 === 0));
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries();
  }

  /** One property per name: a string, or a list where the name was given several times. */
  toJSON(): Record<string, string | string[]> {
    const object: Record<string, string | string[]> = Object.create(null);
    for (const [name, value] of this.entries()) {
      const known = object[name];
      if (known === undefined) object[name] = value;
      else if (typeof known === "string") object[name] = [known, value];
      else known.push(value);
    }
    return object;
  }
}

/** Decodes `+` and percent escapes; a malformed escape stays as it was sent, as in the URL standard. */
function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return Buffer.from(
      spaced.replace(/%([0-9a-f]{2})|[^%]+|%/gi, (part, hex?: string) =>
        hex ? String.fromCharCode(Number.parseInt(hex, 16)) : latin1OfUtf8(part),
      ),
      "latin1",
    ).toString("utf8");
  }
}

function latin1OfUtf8(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
