/** A field value with parameters: `form-data; name="a"`, `multipart/form-data; boundary=x`. */
export interface Parameterized {
  /** The text before the first semicolon, in lower case. */
  readonly value: string;
  /** By name in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * Reads a value and its parameters (RFC 9110 section 5.6.6). Undefined if the text is malformed or names a parameter
 * twice. An unquoted value may hold more than a token, because some clients omit the quotes of a boundary.
 */
export function parseParameters(text: string): Parameterized | undefined {
  const semicolon = text.indexOf(";");
  const end = semicolon === -1 ? text.length : semicolon;
  const parameters = new Map<string, string>();
  parameter.lastIndex = end;
  let read = end;
  while (read < text.length) {
    const match = parameter.exec(text);
    if (!match) return undefined;
    read = parameter.lastIndex;
    const name = match[1]?.toLowerCase();
    if (name === undefined) continue;
    if (parameters.has(name)) return undefined;
    parameters.set(name, match[2] ?? unquote(match[3]!));
  }
  return { value: text.slice(0, end).trim().toLowerCase(), parameters };
}

const parameter =
  /;[ \t]*(?:([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=(?:([^\x00-\x20\x7f",;\\]+)|"([^"\\]*(?:\\.[^"\\]*)*)")[ \t]*)?/y;

/** A backslash before anything but a quote or a backslash is kept: old browsers send whole Windows paths unescaped. */
function unquote(quoted: string): string {
  return quoted.includes("\\") ? quoted.replace(/\\(["\\])/g, "$1") : quoted;
}
