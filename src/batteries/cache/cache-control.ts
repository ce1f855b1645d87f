/** Directives by name in lower case; the argument without its quotes, null where there is none. */
export type Directives = ReadonlyMap<string, string | null>;

/** Ages of this size and more mean "without end" (RFC 9111 section 1.2.2) and are treated alike. */
const maxDelta = 2_147_483_648;

/**
 * Reads Cache-Control (RFC 9111 section 5.2): names in any case, spaces where none belong, arguments quoted or not. Null
 * if a quote is never closed, since its meaning is then unknown. Of a directive given twice with different
 * arguments the argument is "", which is no valid one.
 */
export function parseCacheControl(text: string): Directives | null {
  const directives = new Map<string, string | null>();
  if (text.includes('"')) {
    let rest = 0;
    directive.lastIndex = 0;
    while (rest < text.length) {
      const match = directive.exec(text);
      if (match === null) return null;
      rest = directive.lastIndex;
      add(directives, match[0].endsWith(",") ? match[0].slice(0, -1) : match[0]);
    }
  } else {
    for (const item of text.split(",")) add(directives, item);
  }
  return directives;
}

/** A number of seconds in milliseconds; undefined if the directive is absent, NaN if its argument is not a number. */
export function deltaOf(directives: Directives, name: string): number | undefined {
  const argument = directives.get(name);
  if (argument === undefined) return undefined;
  if (argument === null || !/^\d+$/.test(argument)) return Number.NaN;
  return Math.min(Number(argument), maxDelta) * 1000;
}

const directive = /(?:[^,"]|"(?:[^"\\]|\\.)*")*(?:,|$)/y;

function add(directives: Map<string, string | null>, item: string): void {
  // Characters after a name are ignored: "no-store;" was meant to forbid storing.
  const name = /^\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)/.exec(item)?.[1]?.toLowerCase();
  if (name === undefined) return;
  const equals = item.indexOf("=");
  const argument = equals === -1 ? null : unquoted(item.slice(equals + 1).trim());
  const known = directives.get(name);
  directives.set(name, known === undefined || known === argument ? argument : "");
}

function unquoted(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"')
    ? text.slice(1, -1).replace(/\\(.)/gs, "$1")
    : text;
}
