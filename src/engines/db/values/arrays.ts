/** Arrays between PostgreSQL's text form, `{1,2,NULL,"a \"b\""}`, and lists. */

export function parseArray(text: string, element: (text: string) => unknown): unknown[] {
  // Bounds other than 1 come first: `[0:1]={1,2}`.
  const start = text.charCodeAt(0) === bracket ? text.indexOf("=") + 1 : 0;
  return new ArrayParser(text, start, element).list();
}

/** `element` gives the text of an item, or null for SQL null. */
export function formatArray(list: readonly unknown[], element: (item: unknown) => string | null): string {
  let text = "{";
  for (let i = 0; i < list.length; i++) {
    if (i > 0) text += ",";
    const item = list[i];
    if (Array.isArray(item)) {
      text += formatArray(item, element);
      continue;
    }
    const value = element(item);
    text += value === null ? "NULL" : `"${value.replace(/["\\]/g, "\\$&")}"`;
  }
  return `${text}}`;
}

const open = 123;
const close = 125;
const comma = 44;
const quote = 34;
const backslash = 92;
const bracket = 91;

class ArrayParser {
  readonly #text: string;
  readonly #element: (text: string) => unknown;
  #at: number;

  constructor(text: string, at: number, element: (text: string) => unknown) {
    this.#text = text;
    this.#at = at;
    this.#element = element;
  }

  list(): unknown[] {
    const items: unknown[] = [];
    if (this.#text.charCodeAt(this.#at) !== open) throw new SyntaxError("not an array of PostgreSQL");
    this.#at++;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === close) {
        this.#at++;
        return items;
      }
      if (code === comma) this.#at++;
      else if (code === open) items.push(this.list());
      else if (code === quote) items.push(this.#element(this.#quoted()));
      else items.push(this.#plain());
    }
  }

  #plain(): unknown {
    const start = this.#at;
    let code = this.#text.charCodeAt(this.#at);
    while (code !== comma && code !== close) {
      if (Number.isNaN(code)) throw new SyntaxError("an array of PostgreSQL without its end");
      code = this.#text.charCodeAt(++this.#at);
    }
    const text = this.#text.slice(start, this.#at);
    return text === "NULL" ? null : this.#element(text);
  }

  #quoted(): string {
    let value = "";
    let from = ++this.#at;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (Number.isNaN(code)) throw new SyntaxError("an array of PostgreSQL without its end");
      if (code === quote || code === backslash) {
        value += this.#text.slice(from, this.#at);
        this.#at++;
        if (code === quote) return value;
        from = this.#at;
      }
      this.#at++;
    }
  }
}
