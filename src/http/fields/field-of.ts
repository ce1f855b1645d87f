/** The value of a field named in lower case, from names and values in turn. */
export function fieldOf(lines: readonly string[], name: string): string | undefined {
  let found: string | undefined;
  for (let i = 0; i < lines.length; i += 2) {
    if (lines[i]!.length !== name.length || lines[i]!.toLowerCase() !== name) continue;
    // RFC 9113 section 8.2.3: a client may send each cookie as a separate field.
    found = found === undefined ? lines[i + 1]! : `${found}${name === "cookie" ? "; " : ", "}${lines[i + 1]}`;
  }
  return found;
}
