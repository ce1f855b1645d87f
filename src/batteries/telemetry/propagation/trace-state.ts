const maxMembers = 32;
const key = /^[a-z0-9][_0-9a-z\-*/@]{0,255}$/;
const value = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * The `tracestate` of a caller: entries of tracing systems, which are passed on as they are (W3C Trace Context, section
 * 3.3). It is checked when it is first needed, because most requests make no calls.
 */
export class TraceState {
  readonly #raw: string;
  #text: string | undefined;

  constructor(raw: string) {
    this.#raw = raw;
  }

  /** The header to pass on; empty if the one received was not valid. One invalid entry makes all of it invalid. */
  get text(): string {
    return (this.#text ??= checkedTraceState(this.#raw));
  }
}

export function checkedTraceState(raw: string): string {
  const members = new Map<string, string>();
  for (const part of raw.split(",")) {
    const member = trimmed(part);
    if (member === "") continue;
    const equals = member.indexOf("=");
    if (equals < 0 || !key.test(member.slice(0, equals)) || !value.test(member.slice(equals + 1))) return "";
    // Of entries with the same key the first counts: it is the newest.
    if (!members.has(member.slice(0, equals))) members.set(member.slice(0, equals), member);
    if (members.size > maxMembers) return "";
  }
  return [...members.values()].join(",");
}

/** Without the spaces and tabs around it. An expression for the end takes quadratic time for some texts. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
