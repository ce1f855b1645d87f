import { ValueError } from "../kit/value-error.js";

/** Quotes an identifier for SQL. Names come from the application and the schema, never from a client. */
export function quote(name: string): string {
  let quoted = known.get(name);
  if (quoted === undefined) known.set(name, (quoted = `"${name.replaceAll('"', '""')}"`));
  return quoted;
}

const known = new Map<string, string>();

export function qualified(schema: string | undefined, name: string): string {
  return schema === undefined ? quote(name) : `${quote(schema)}.${quote(name)}`;
}

const longest = 63;

/**
 * Refuses names that PostgreSQL would truncate, and names with control or invisible characters: messages could not
 * identify them.
 */
export function checkIdentifier(owner: string, name: unknown): string {
  if (typeof name !== "string" || name === "") throw new ValueError(`${owner} must be a non-empty string`);
  if (/[\p{Cc}\p{Cf}\p{Cs}]/u.test(name)) throw new ValueError(`${owner} contains a control character`);
  if (Buffer.byteLength(name) > longest) throw new ValueError(`${owner} '${name}' is longer than ${longest} bytes`);
  return name;
}

/**
 * Shortens a name to at most 63 bytes. A longer name ends in a hash of the full name, so that it is stable and unique.
 */
export function shortName(name: string): string {
  if (Buffer.byteLength(name) <= longest) return name;
  let hash = 5381n;
  for (const byte of Buffer.from(name)) hash = (hash * 33n + BigInt(byte)) & 0xffffffffn;
  const suffix = `_${hash.toString(16).padStart(8, "0")}`;
  const head = Buffer.from(name)
    .subarray(0, longest - suffix.length)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
  return head + suffix;
}

/**
 * A string literal that is valid for any `standard_conforming_strings`: a text with backslashes becomes an `E''`
 * string.
 */
export function literal(text: string): string {
  const quoted = `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
  return text.includes("\\") ? `E${quoted}` : quoted;
}
