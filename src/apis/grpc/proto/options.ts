import type { Tokens } from "./tokens.js";

/** The value of an option: text, a number, a word; undefined for a message, which no option of ours has. */
export type OptionValue = string | number | boolean | undefined;

/** Options by their names. Those in parentheses belong to other programs and are left out. */
export type Options = Map<string, OptionValue>;

/** Reads `[a = 1, (b).c = "x"]`, if present. */
export function bracketOptions(tokens: Tokens): Options {
  const options: Options = new Map();
  if (!tokens.skip("[")) return options;
  do readOption(tokens, options);
  while (tokens.skip(","));
  tokens.expect("]");
  return options;
}

/** Reads the rest of `option a.b = 1;`. */
export function optionStatement(tokens: Tokens, options: Options): void {
  readOption(tokens, options);
  tokens.expect(";");
}

function readOption(tokens: Tokens, options: Options): void {
  const name = optionName(tokens);
  tokens.expect("=");
  const value = optionValue(tokens);
  if (name !== null) options.set(name, value);
}

/** Null for an option of another program. */
function optionName(tokens: Tokens): string | null {
  const parts: string[] = [];
  let foreign = false;
  do {
    if (tokens.skip("(")) {
      foreign = true;
      tokens.fullName();
      tokens.expect(")");
    } else parts.push(tokens.name());
  } while (tokens.skip("."));
  return foreign ? null : parts.join(".");
}

function optionValue(tokens: Tokens): OptionValue {
  if (tokens.sees("{")) {
    skipMessage(tokens);
    return undefined;
  }
  if (tokens.peek.kind === "text") return tokens.text();
  const sign = tokens.skip("-") ? "-" : tokens.skip("+") ? "" : "";
  const { kind, value } = tokens.peek;
  if (kind !== "name" && kind !== "number") throw tokens.error("a value is expected");
  tokens.take();
  if (kind === "number") {
    const number = Number(sign + value);
    return Number.isSafeInteger(number) || !Number.isInteger(number) ? number : sign + value;
  }
  if (value === "true" || value === "false") return value === "true";
  return sign + value;
}

/** A value in braces, in the text format of protobuf. */
function skipMessage(tokens: Tokens): void {
  let depth = 0;
  do {
    const { kind, value } = tokens.take();
    if (kind === "end") throw tokens.error("'}' is expected");
    if (kind === "sign" && value === "{") depth++;
    if (kind === "sign" && value === "}") depth--;
  } while (depth > 0);
}
