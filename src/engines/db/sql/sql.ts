import { ValueError } from "../../../kit/value-error.js";

/** Text of SQL with its parameters, made by the tag `sql`. Fragments can contain fragments with `${}`. */
export class SqlFragment {
  /** @internal The text before, between and after the parameters: one part more than there are parameters. */
  readonly parts: readonly string[];
  readonly params: readonly unknown[];
  #text: string | null = null;

  constructor(parts: readonly string[], params: readonly unknown[]) {
    this.parts = parts;
    this.params = params;
  }

  /** The statement with `$1`, `$2`, ... in place of its parameters. */
  get text(): string {
    return (this.#text ??= numbered(this.parts));
  }
}

/** The helpers of every tag. */
export interface SqlHelpers {
  /** A name, quoted: `sql.id("public", "books")` is `"public"."books"`. */
  id(...names: readonly string[]): SqlFragment;
  /** Fragments or values in a row; values become parameters. */
  join(items: readonly unknown[], separator?: string): SqlFragment;
  /** Text that is used unchanged. Never pass input of a client. */
  raw(text: string): SqlFragment;
}

export interface FragmentTag extends SqlHelpers {
  (strings: TemplateStringsArray, ...values: readonly unknown[]): SqlFragment;
}

export const sqlHelpers: SqlHelpers = {
  id(...names) {
    return new SqlFragment([names.map(quoteIdentifier).join(".")], []);
  },
  join(items, separator = ", ") {
    const strings = items.map((_, index) => (index === 0 ? "" : separator));
    return fragment([...strings, ""], items);
  },
  raw(text) {
    if (typeof text !== "string") throw new ValueError("sql.raw takes a string");
    return new SqlFragment([text], []);
  },
};

/** A part of a statement, for use in others: `` db.fetch(sql`select * from books where ${condition}`) ``. */
export const sql: FragmentTag = Object.assign(
  (strings: TemplateStringsArray, ...values: readonly unknown[]) => fragment(strings, values),
  sqlHelpers,
);

/** A name as PostgreSQL takes it literally. */
export function quoteIdentifier(name: string): string {
  if (typeof name !== "string" || name === "") throw new ValueError("a name in SQL must be a non-empty string");
  if (name.includes("\0")) throw new ValueError("a name in SQL cannot contain U+0000");
  return `"${name.replaceAll('"', '""')}"`;
}

/** Puts fragments among the values into the text; the other values stay parameters. */
export function fragment(strings: readonly string[], values: readonly unknown[]): SqlFragment {
  if (!values.some((value) => value instanceof SqlFragment)) return new SqlFragment(strings, values);
  const parts: string[] = [strings[0]!];
  const params: unknown[] = [];
  values.forEach((value, index) => {
    const after = strings[index + 1]!;
    if (value instanceof SqlFragment) {
      parts[parts.length - 1] += value.parts[0]!;
      for (let i = 0; i < value.params.length; i++) {
        params.push(value.params[i]);
        parts.push(value.parts[i + 1]!);
      }
      parts[parts.length - 1] += after;
    } else {
      params.push(value);
      parts.push(after);
    }
  });
  return new SqlFragment(parts, params);
}

/** Texts of templates by identity: a template in code is the same array each time it runs. */
const texts = new WeakMap<readonly string[], string>();

function numbered(parts: readonly string[]): string {
  const known = texts.get(parts);
  if (known !== undefined) return known;
  let text = parts[0]!;
  for (let i = 1; i < parts.length; i++) text += `$${i}${parts[i]!}`;
  if (Object.isFrozen(parts)) texts.set(parts, text);
  return text;
}
