import { show } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import type { TypeGiven } from "./text-types.js";

const namePattern = /^[_A-Za-z][_0-9A-Za-z]*$/;
const typePattern = /^\[{0,8}[_A-Za-z][_0-9A-Za-z]*[\]!]{0,16}$/;

export function checkName(what: string, name: unknown): string {
  if (typeof name !== "string" || !namePattern.test(name) || name.startsWith("__")) {
    throw new ValueError(`${what} needs a name of letters, digits and underscores, not ${show(name)}`);
  }
  return name;
}

/** A type in GraphQL's notation. `defaults` allows a default value after it. */
export function typeText(owner: string, given: TypeGiven, defaults = false): string {
  const text = typeof given === "string" ? given.trim() : given?.text;
  if (typeof text !== "string") throw new ValueError(`${owner} needs a type such as "String!", not ${show(given)}`);
  const [type = "", value] = defaults && text.includes("=") ? splitDefault(text) : [text];
  if (!typePattern.test(type)) throw new ValueError(`${owner} needs a type such as "String!", not ${show(text)}`);
  return value === undefined ? type : `${type} = ${value}`;
}

function splitDefault(text: string): [type: string, value: string] {
  const at = text.indexOf("=");
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** A directive as it stands in a definition: `@tag(name: "a")`. */
export function directiveText(owner: string, text: unknown): string {
  if (typeof text === "string" && /^@[_A-Za-z]/.test(text)) return text;
  throw new ValueError(`${owner} needs a directive such as "@shareable", not ${show(text)}`);
}

/** A description before a definition. */
export function describe(text: string | undefined): string {
  return text === undefined ? "" : `${JSON.stringify(text)}\n`;
}
