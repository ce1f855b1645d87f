import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

/** Directives by name with their sources: `{ "default-src": ["'self'"], "img-src": "*" }`; false leaves one out. */
export type PolicyDirectives = Readonly<Record<string, string | readonly string[] | false>>;

const standard: PolicyDirectives = {
  "default-src": ["'self'"],
  "base-uri": ["'self'"],
  "form-action": ["'self'"],
  "frame-ancestors": ["'self'"],
  "img-src": ["'self'", "data:"],
  "object-src": ["'none'"],
};

/** The value of the field. Directives given one by one stand beside or in place of the standard ones. */
export function contentSecurityPolicy(given: string | PolicyDirectives | false | undefined): string | false {
  if (typeof given === "string" || given === false) return given;
  const directives = { ...standard, ...given };
  return Object.entries(directives)
    .filter(([, sources]) => sources !== false)
    .map(([name, sources]) => directive(name, sources as string | readonly string[]))
    .join("; ");
}

function directive(name: string, sources: string | readonly string[]): string {
  const list = Array.isArray(sources) ? sources : [sources];
  const sound = list.every((source) => typeof source === "string" && /^[\x21-\x2b\x2d-\x3a\x3c-\x7e ]*$/.test(source));
  if (!/^[a-z-]+$/.test(name) || !sound) {
    throw new ValueError(
      `contentSecurityPolicy of enableSecurityHeaders() takes names of directives with a list of sources, not ${show(name)}: ${show(sources)}`,
    );
  }
  return [name, ...list].filter((part) => part !== "").join(" ");
}
