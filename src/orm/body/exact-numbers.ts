import { setOwn } from "../../kit/own-property.js";

/** The text of a JSON number, kept because a double may not hold its exact value. */
export class NumberText {
  constructor(readonly text: string) {}
}

/**
 * A double holds every decimal of up to 15 digits: `String` writes the same digits again. A run of 16 digits, with the
 * point counted as one, may have more.
 */
const longNumber = /\d[\d.]{15}/;

/** True if a JSON text may contain a number that a double does not hold exactly. */
export function mayLoseDigits(text: string): boolean {
  return longNumber.test(text);
}

/**
 * Parses a JSON text, with every long number as a `NumberText`. The text must be valid and of limited depth. JSON.parse
 * of Node.js 20 does not show how a number was written.
 */
export function parseExactly(text: string): unknown {
  return new Reader(text).value();
}

class Reader {
  #at = 0;

  constructor(private readonly text: string) {}

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
    do end = this.text.indexOf('"', end + 1);
    while (this.#isEscaped(end));
    this.#at = end + 1;
    return JSON.parse(this.text.slice(start, end + 1)) as string;
  }

  #isEscaped(quote: number): boolean {
    let backslashes = 0;
    while (this.text[quote - 1 - backslashes] === "\\") backslashes++;
    return backslashes % 2 === 1;
  }

  #number(): unknown {
    numberToken.lastIndex = this.#at;
    const [text] = numberToken.exec(this.text)!;
    this.#at += text.length;
    return mayLoseDigits(text) ? new NumberText(text) : Number(text);
  }

  /** Skips white space and returns the next character, without consuming it. */
  #next(): string | undefined {
    while (this.text.charCodeAt(this.#at) <= 0x20) this.#at++;
    return this.text[this.#at];
  }
}

const numberToken = /[-+.\deE]+/y;
