import { type Check, nullByte, Refusal } from "../refusal.js";

const stringType = new Refusal("string_type", "Input should be a valid string");

/** Text, of at most `maxLength` characters: code points, as PostgreSQL and Python count them. */
export function textCheck(maxLength: number | undefined): Check {
  const tooLong = new Refusal(
    "string_too_long",
    `String should have at most ${maxLength} character${maxLength === 1 ? "" : "s"}`,
  );
  return (value, body) => {
    if (typeof value !== "string") return stringType;
    if (maxLength !== undefined && isLonger(value, maxLength)) return tooLong;
    return body.nulls && value.includes("\0") ? nullByte : value;
  };
}

/** A text has at most as many code points as UTF-16 code units, and at least half as many. */
export function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > 2 * limit) return true;
  let points = 0;
  for (let at = 0; at < text.length; points++) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  return points > limit;
}

export function enumCheck(choices: readonly string[]): Check {
  const known = new Set<unknown>(choices);
  const quoted = choices.map(pythonString);
  const list = quoted.length === 1 ? quoted[0] : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
  const refusal = new Refusal("enum", `Input should be ${list}`);
  return (value) => (known.has(value) ? value : refusal);
}

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Quotes a string as Python does, because pydantic's messages contain strings in this form. */
function pythonString(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  let result = "";
  for (const character of text) {
    if (character === mark) result += `\\${mark}`;
    else if (character < " " || character === "\x7f" || character === "\\") {
      result += escapes[character] ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
    } else result += character;
  }
  return mark + result + mark;
}

const uuidType = new Refusal("uuid_type", "UUID input should be a string, bytes or UUID object");
// pydantic's message continues with the character that it found.
const uuidParsing = new Refusal("uuid_parsing", "Input should be a valid UUID");
const groups = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}";
const uuidForms = new RegExp(`^(?:(?:urn:uuid:)?${groups}|\\{${groups}\\}|[0-9a-f]{32})$`, "i");

/** A UUID in any of the common forms. The result has the form that PostgreSQL writes. */
export const uuidCheck: Check = (value) => {
  if (typeof value !== "string") return uuidType;
  if (!uuidForms.test(value) || value.startsWith("U")) return uuidParsing;
  if (value.length === 36) return value.toLowerCase();
  const hex = value.replace("urn:uuid:", "").replace(/[-{}]/g, "").toLowerCase();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

const bytesType = new Refusal("bytes_type", "Input should be a valid bytes");
// pydantic's message continues with the symbol that it found.
const bytesEncoding = new Refusal("bytes_invalid_encoding", "Data should be valid base64");
/** A search for what must not be there: a match of all of it would be tried again from each character. */
const notBase64 = /[^A-Za-z0-9+/_=-]/;

/** Base64 in either alphabet, with or without its padding. */
export const bytesCheck: Check = (value) => {
  if (typeof value !== "string") return bytesType;
  const bytes = Buffer.from(value, "base64");
  const canonical = bytes.toString("base64");
  if (canonical !== value) {
    if (notBase64.test(value) || (/[+/]/.test(value) && /[_-]/.test(value))) return bytesEncoding;
    // Unused bits at the end must be zero, and padding stands there only, not longer than needed.
    const given = value.replaceAll("-", "+").replaceAll("_", "/");
    if (!canonical.startsWith(given) || !/^=*$/.test(canonical.slice(given.length))) return bytesEncoding;
  }
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};
