import { ValueError } from "../../../kit/value-error.js";

export interface Token {
  readonly kind: "name" | "number" | "text" | "sign" | "end";
  /** The text; of a string, its value. */
  readonly value: string;
  readonly line: number;
  readonly column: number;
}

const nameStart = /[A-Za-z_]/;
const namePart = /[A-Za-z0-9_]/;
const numberPart = /[0-9A-Za-z_.]/;
const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", a: "\x07", b: "\b", f: "\f", v: "\v" };

/** Cuts the text of a `.proto` file into tokens, in one pass. */
export class Tokens {
  readonly #file: string;
  readonly #text: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;
  #next: Token;

  constructor(file: string, text: string) {
    this.#file = file;
    this.#text = text.startsWith("\ufeff") ? text.slice(1) : text;
    this.#next = this.#read();
  }

  /** The next token, which stays. */
  get peek(): Token {
    return this.#next;
  }

  take(): Token {
    const token = this.#next;
    this.#next = this.#read();
    return token;
  }

  /** True if the next token is this sign or word: it is taken then. */
  skip(value: string): boolean {
    if (!this.sees(value)) return false;
    this.take();
    return true;
  }

  sees(value: string): boolean {
    return this.#next.value === value && this.#next.kind !== "text";
  }

  expect(value: string): void {
    if (!this.skip(value)) throw this.error(`'${value}' is expected`);
  }

  /** A name without dots. */
  name(): string {
    if (this.#next.kind !== "name") throw this.error("a name is expected");
    return this.take().value;
  }

  /** A name with dots, and one before it if it is absolute. */
  fullName(): string {
    let name = this.skip(".") ? "." : "";
    name += this.name();
    while (this.skip(".")) name += `.${this.name()}`;
    return name;
  }

  integer(): number {
    const negative = this.skip("-");
    const { kind, value } = this.#next;
    const number = /^0[0-7]+$/.test(value) ? Number.parseInt(value, 8) : Number(value);
    if (kind !== "number" || !Number.isInteger(number)) throw this.error("an integer is expected");
    this.take();
    return negative ? -number : number;
  }

  /** A string; neighbouring ones are one. */
  text(): string {
    if (this.#next.kind !== "text") throw this.error("a string is expected");
    let text = "";
    while (this.#next.kind === "text") text += this.take().value;
    return text;
  }

  error(problem: string, { line, column, value, kind } = this.#next): ValueError {
    const found = kind === "end" ? "the end of the file" : JSON.stringify(value);
    return new ValueError(`${this.#file}:${line}:${column}: ${problem}, not ${found}`);
  }

  #read(): Token {
    this.#skipSpace();
    const text = this.#text;
    const start = this.#at;
    const place = { line: this.#line, column: start - this.#lineStart + 1 };
    const first = text.charAt(start);
    if (first === "") return { kind: "end", value: "", ...place };
    if (nameStart.test(first)) return { kind: "name", value: this.#run(namePart), ...place };
    if (/[0-9]/.test(first) || (first === "." && /[0-9]/.test(text.charAt(start + 1)))) {
      let value = this.#run(numberPart);
      // The sign of an exponent.
      while (/^[0-9.]+e$/i.test(value) && /[+-]/.test(text.charAt(this.#at))) {
        value += text.charAt(this.#at++);
        value += this.#run(numberPart);
      }
      return { kind: "number", value, ...place };
    }
    if (first === '"' || first === "'") return { kind: "text", value: this.#string(first), ...place };
    this.#at++;
    return { kind: "sign", value: first, ...place };
  }

  #run(part: RegExp): string {
    const start = this.#at;
    while (this.#at < this.#text.length && part.test(this.#text.charAt(this.#at))) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  #skipSpace(): void {
    const text = this.#text;
    for (;;) {
      const character = text.charAt(this.#at);
      if (character === "\n") {
        this.#line++;
        this.#lineStart = ++this.#at;
      } else if (
        character === " " ||
        character === "\t" ||
        character === "\r" ||
        character === "\f" ||
        character === "\v"
      ) {
        this.#at++;
      } else if (character === "/" && text.charAt(this.#at + 1) === "/") {
        const end = text.indexOf("\n", this.#at);
        this.#at = end === -1 ? text.length : end;
      } else if (character === "/" && text.charAt(this.#at + 1) === "*") {
        this.#skipComment();
      } else return;
    }
  }

  #skipComment(): void {
    const end = this.#text.indexOf("*/", this.#at + 2);
    if (end === -1) throw new ValueError(`${this.#file}:${this.#line}: a comment does not end`);
    for (let i = this.#at; i < end; i++) {
      if (this.#text.charAt(i) !== "\n") continue;
      this.#line++;
      this.#lineStart = i + 1;
    }
    this.#at = end + 2;
  }

  #string(quote: string): string {
    const text = this.#text;
    let value = "";
    for (this.#at++; ; ) {
      const character = text.charAt(this.#at++);
      if (character === quote) return value;
      if (character === "" || character === "\n")
        throw new ValueError(`${this.#file}:${this.#line}: a string does not end`);
      if (character !== "\\") value += character;
      else value += this.#escape();
    }
  }

  #escape(): string {
    const character = this.#text.charAt(this.#at++);
    const digits = /^(?:x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|u[0-9A-Fa-f]{4})/.exec(
      this.#text.slice(this.#at - 1, this.#at + 4),
    );
    if (digits === null) return escapes[character] ?? character;
    this.#at += digits[0].length - 1;
    const isHex = character === "x" || character === "u";
    return String.fromCharCode(isHex ? Number.parseInt(digits[0].slice(1), 16) : Number.parseInt(digits[0], 8));
  }
}
