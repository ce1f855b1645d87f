import { reasonPhrase } from "../../http/status.js";

const maxPrepared = 512;
// One character per byte, none of which can end the line: a sign beyond 0xFF would be cut to its low byte, which may be CR.
const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

interface PreparedHead {
  readonly status: number;
  readonly type: string | null;
  /** Status line and Content-Type. */
  readonly lines: string;
  /** The Date line that `dated` was made with. */
  date: string;
  /** All three lines. */
  dated: string;
}

/** The beginnings of heads, prepared once for each status and type that is used, and once for each second. */
export class PreparedHeads {
  readonly #byType = new Map<string | null, PreparedHead[]>();
  #count = 0;
  #last: PreparedHead | null = null;

  /** `date` is the Date line; empty when the response has its own. */
  get(status: number, type: string | null, date: string): string {
    // Most servers send the same kind of response again and again.
    let head = this.#last;
    if (head === null || head.status !== status || head.type !== type) {
      head = this.#byType.get(type)?.find((prepared) => prepared.status === status) ?? this.#prepare(status, type);
      this.#last = head;
    }
    if (date === "") return head.lines;
    if (head.date !== date) {
      head.date = date;
      head.dated = flat(head.lines + date);
    }
    return head.dated;
  }

  #prepare(status: number, type: string | null): PreparedHead {
    if (type !== null) checkValue("Content-Type", type);
    const line = `HTTP/1.1 ${status} ${reasonPhrase(status)}\r\n`;
    const lines = type === null ? line : `${line}Content-Type: ${type}\r\n`;
    const head = { status, type, lines, date: "", dated: "" };
    // A type can be made up for each response (a boundary in it), so the number of prepared heads is bounded.
    if (++this.#count > maxPrepared) {
      this.#count = 1;
      this.#byType.clear();
    }
    const others = this.#byType.get(type);
    if (others) others.push(head);
    else this.#byType.set(type, [head]);
    return head;
  }
}

/** The same text in one piece: text that was joined from parts is copied again by every write. */
export function flat(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

/** The field that was sent last at its place among the fields. */
interface SentField {
  name: string;
  value: string;
  /** Null until the same field is sent again. */
  line: string | null;
}

/** Places among the fields, and characters of a value, of which the last one is kept. */
const maxPlaces = 32;
const maxKept = 256;

/**
 * The fields of a response as lines, and the meaning of those that the transport sends itself. Most of them are those of the
 * response before, at the same place: their lines are kept, so that they are neither checked nor put together again.
 */
export class FieldLines {
  text = "";
  /** The length that the application gives; -1 without one. */
  length = -1;
  /** The application gives its own Date. */
  dated = false;
  /** The application wants the connection closed. */
  close = false;
  readonly #sent = Array.from({ length: maxPlaces }, (): SentField => ({ name: "", value: "", line: null }));

  /** Throws when a value cannot be sent. */
  render(fields: readonly string[]): void {
    let text = "";
    this.length = -1;
    this.dated = false;
    this.close = false;
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i]!;
      const value = fields[i + 1]!;
      const sent = this.#sent[i >> 1];
      if (sent !== undefined && sent.value === value && sent.name === name) {
        text += sent.line ??= flat(`${name}: ${value}\r\n`);
        continue;
      }
      checkValue(name, value);
      if (this.#isOurs(name, value)) continue;
      text += `${name}: ${value}\r\n`;
      if (sent === undefined || value.length > maxKept || this.dated) continue;
      sent.name = name;
      sent.value = value;
      sent.line = null;
    }
    this.text = text;
  }

  #isOurs(name: string, value: string): boolean {
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "date") this.dated = true;
        return false;
      case 10:
        if (name.toLowerCase() !== "connection") return false;
        if (namesClose(value)) this.close = true;
        return true;
      case 14:
        if (name.toLowerCase() !== "content-length") return false;
        this.length = givenLength(value);
        return true;
      case 17:
        return name.toLowerCase() === "transfer-encoding";
      default:
        return false;
    }
  }
}

/** The length in a Content-Length field of an application. */
export function givenLength(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new Error(`Content-Length cannot be '${value}'`);
  return Number(value);
}

/** True if a Connection field of an application asks for the end of the connection. */
export function namesClose(value: string): boolean {
  return /(?:^|,)\s*close\s*(?:,|$)/i.test(value);
}

/** Refuses a value that cannot be sent. */
export function checkValue(name: string, value: string): void {
  if (unsendable.test(value)) {
    throw new Error(`the value of header '${name}' holds a character that cannot be sent in a header`);
  }
}
