/** The query parameters of a request, parsed when first asked for. */
export class Query implements Iterable<[name: string, value: string]> {
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  constructor(text: string) {
    const escaped = text.includes("%") || text.includes("+");
    let start = 0;
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
    this.#names.push(escaped ? decode(name) : name);
    this.#values.push(escaped ? decode(value) : value);
  }

  get size(): number {
    return this.#names.length;
  }

  /** The first value given for a name. */
  get(name: string): string | undefined {
    const index = this.#names.indexOf(name);
    return index === -1 ? undefined : this.#values[index];
  }

  /** Every value given for a name, in order. */
  getAll(name: string): string[] {
    return this.#values.filter((_, index) => this.#names[index] === name);
  }

  has(name: string): boolean {
    return this.#names.includes(name);
  }

  *entries(): IterableIterator<[name: string, value: string]> {
    for (let i = 0; i < this.#names.length; i++) yield [this.#names[i]!, this.#values[i]!];
  }

  *keys(): IterableIterator<string> {
    yield* new Set(this.#names);
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
