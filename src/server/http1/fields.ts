/**
 * Field lines that have been checked, found by name. Only the places are noted at first: a request has ten fields or
 * more, and the pipeline asks for two or three of them.
 */
export class FieldIndex {
  readonly #text: string;
  /** Four numbers per field: begin and end of the name, begin and end of the value. */
  readonly #places: number[] = [];
  #lines: string[] | null = null;

  /** Takes the lines with the empty one that ends them. */
  constructor(text: string) {
    this.#text = text;
    const places = this.#places;
    let pos = 0;
    for (;;) {
      const end = text.indexOf("\r\n", pos);
      if (end <= pos) return;
      const colon = text.indexOf(":", pos);
      let from = colon + 1;
      let to = end;
      while (from < to && isBlank(text.charCodeAt(from))) from++;
      while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
      places.push(pos, colon, from, to);
      pos = end + 2;
    }
  }

  /** The value of the field with this lower-case name; the values of a repeated one are joined. */
  get(name: string): string | undefined {
    const text = this.#text;
    const places = this.#places;
    let found: string | undefined;
    let more: string[] | null = null;
    for (let i = 0; i < places.length; i += 4) {
      const start = places[i]!;
      if (places[i + 1]! - start !== name.length || !matches(text, start, name)) continue;
      const value = text.slice(places[i + 2]!, places[i + 3]!);
      if (found === undefined) found = value;
      else (more ??= [found]).push(value);
    }
    // RFC 9113 section 8.2.3: Cookie alone is joined by semicolons.
    return more === null ? found : more.join(name === "cookie" ? "; " : ", ");
  }

  lines(): readonly string[] {
    if (this.#lines) return this.#lines;
    const lines: string[] = [];
    const places = this.#places;
    for (let i = 0; i < places.length; i += 4) {
      lines.push(this.#text.slice(places[i]!, places[i + 1]!), this.#text.slice(places[i + 2]!, places[i + 3]!));
    }
    return (this.#lines = lines);
  }
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function matches(text: string, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const code = text.charCodeAt(start + i);
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (lower !== name.charCodeAt(i)) return false;
  }
  return true;
}
