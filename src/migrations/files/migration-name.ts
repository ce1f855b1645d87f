import type { Operation } from "../operation.js";

const longest = 60;

/**
 * A name for a migration, after what it does: `add_year_to_books`, `create_tags_and_2_more`; `initial` for the first. Its
 * number is not part of it.
 */
export function nameFor(operations: readonly Operation[], options: { readonly first?: boolean } = {}): string {
  if (options.first) return "initial";
  // Constraints, indexes and comments mostly accompany an operation that describes the migration better.
  const telling = operations.filter((operation) => !isAside(operation) && !isMadeAgain(operation, operations));
  const words = [...new Set((telling.length > 0 ? telling : operations).map(wordsFor))].map(asName);
  const [first, second] = words;
  if (first === undefined) return "empty";
  if (second === undefined) return shortened(first, longest);
  const both = `${first}_and_${second}`;
  if (words.length === 2 && both.length <= longest) return both;
  const more = `_and_${words.length - 1}_more`;
  return shortened(first, longest - more.length) + more;
}

function isAside({ source: [name] }: Operation): boolean {
  return /^(create|drop|rename)Index$|^add(Unique|ForeignKey|Check)$|Constraint$|^commentTable$/.test(name);
}

/** A view that changes is dropped and created. */
function isMadeAgain({ source: [name, view] }: Operation, all: readonly Operation[]): boolean {
  return name === "dropView" && all.some(({ source }) => source[0] === "createView" && source[1] === view);
}

function wordsFor({ source: [name, ...args] }: Operation): string {
  const [a, b, c] = args.map((arg) => (typeof arg === "string" ? arg : ""));
  switch (name) {
    case "createTable":
    case "createView":
    case "createEnum":
    case "createSchema":
      return `create ${a}`;
    case "dropTable":
    case "dropView":
    case "dropEnum":
      return `drop ${a}`;
    case "renameTable":
    case "renameEnum":
      return `rename ${a} to ${b}`;
    case "commentTable":
      return `comment ${a}`;
    case "addColumn":
      return `add ${b} to ${a}`;
    case "dropColumn":
      return `drop ${b} from ${a}`;
    case "renameColumn":
    case "renameEnumValue":
      return `rename ${b} to ${c} in ${a}`;
    case "alterColumn":
      return `alter ${b} of ${a}`;
    case "createIndex":
      return `create ${b}`;
    case "addUnique":
    case "addForeignKey":
    case "addCheck":
      return `add ${b}`;
    case "dropIndex":
    case "dropConstraint":
      return `drop ${b}`;
    case "renameIndex":
    case "renameConstraint":
      return `rename ${b} to ${c}`;
    case "setPrimaryKey":
      return `key of ${a}`;
    case "addEnumValue":
      return `add ${b} to ${a}`;
    case "alterEnum":
      return `alter ${a}`;
    default:
      return name;
  }
}

function asName(words: string): string {
  return words
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_|_$/g, "");
}

function shortened(name: string, length: number): string {
  return name.slice(0, length).replace(/_+$/, "");
}
