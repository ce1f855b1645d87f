/** Source text that breaks into lines where it would be too long. */
export type Code = string | Group | readonly Code[];

/** Items in brackets: on one line, or each on its own. */
interface Group {
  readonly open: string;
  readonly items: readonly Code[];
  readonly close: string;
}

const width = 120;

/** An object literal, from the code of its values. */
export function objectCode(members: readonly (readonly [name: string, value: Code])[]): Code {
  return { open: "{ ", items: members.map(([name, value]) => [`${name}: `, value]), close: " }" };
}

export function listCode(items: readonly Code[]): Code {
  return items.length === 0 ? "[]" : { open: "[", items, close: "]" };
}

/** The text, whose first line continues after `column` characters; further lines are indented by `indent`. */
export function print(code: Code, indent: number, column: number = indent): string {
  const flat = flatten(code);
  // One comma or bracket may follow.
  if (column + flat.length < width || typeof code === "string") return flat;
  if (isGroup(code)) {
    const inner = " ".repeat(indent + 2);
    const items = code.items.map((item) => `${inner}${print(item, indent + 2)},\n`);
    return `${code.open.trimEnd()}\n${items.join("")}${" ".repeat(indent)}${code.close.trimStart()}`;
  }
  let text = "";
  for (const part of code) {
    const line = text.slice(text.lastIndexOf("\n") + 1);
    text += print(part, indent, text.includes("\n") ? line.length : column + line.length);
  }
  return text;
}

function flatten(code: Code): string {
  if (typeof code === "string") return code;
  if (isGroup(code)) return `${code.open}${code.items.map(flatten).join(", ")}${code.close}`;
  return code.map(flatten).join("");
}

function isGroup(code: Group | readonly Code[]): code is Group {
  return "open" in code;
}
