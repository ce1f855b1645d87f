import { setOwn } from "../../internal/own-property.js";

/** A number of JSON as it was written, because a double may not hold it. */
export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Digits that a double always holds: any decimal of so many is what `String` makes of it again. A run that is longer,
 * with its point, may be more than that.
 */
const longNumber = /\d[\d.]{15}/;

/** Whether a JSON text may hold a number that a double does not. */
export function mayLoseDigits(text: string): boolean {
  return longNumber.test(text);
}

/**
 * Parses a text that is known to be JSON, of bounded depth, with every long number as a `NumberText`. JSON.parse of
 * Node.js 20 does not tell how a number was written.
 */
export function parseExactly(text: string): unknown {
  return new Reader(text).value();
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    switch (this.#next()) {
      case "{":
        return this.#object();
      case "[":
        return this.#array();
      case '"':
        return this.#string();
      case "t":
        this.#at += 4;
        return true;
      case "f":
        this.#at += 5;
        return false;
      case "n":
        this.#at += 4;
        return null;
      default:
        return this.#number();
    }
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#at++;
    while (this.#next() !== "}") {
      const key = this.#string();
      this.#next();
      this.#at++;
      setOwn(object, key, this.value());
      if (this.#next() === ",") this.#at++;
    }
    this.#at++;
    return object;
  }

  #array(): unknown[] {
    const array: unknown[] = [];
    this.#at++;
    while (this.#next() !== "]") {
      array.push(this.value());
      if (this.#next() === ",") this.#at++;
    }
    this.#at++;
    return array;
  }

  #string(): string {
    const start = this.#at;
    let end = start;
    do end = this.#text.indexOf('"', end + 1);
    while (this.#isEscaped(end));
    this.#at = end + 1;
    return JSON.parse(this.#text.slice(start, end + 1)) as string;
  }

  #isEscaped(quote: number): boolean {
    let backslashes = 0;
    while (this.#text[quote - 1 - backslashes] === "\\") backslashes++;
    return backslashes % 2 === 1;
  }

  #number(): unknown {
    numberToken.lastIndex = this.#at;
    const [text] = numberToken.exec(this.#text)!;
    this.#at += text.length;
    return mayLoseDigits(text) ? new NumberText(text) : Number(text);
  }

  /** The next character that is no white space. */
  #next(): string | undefined {
    while (this.#text.charCodeAt(this.#at) <= 0x20) this.#at++;
    return this.#text[this.#at];
  }
}

const numberToken = /[-+.\deE]+/y;
