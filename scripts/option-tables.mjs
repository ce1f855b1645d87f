/**
 * Writes the names, the defaults and the unit of options into the tables of docs/, from the declarations in src/:
 *
 *     node scripts/option-tables.mjs
 *
 * A table stands between `<!-- options src/batteries/cors/cors.ts corsOptions -->` and `<!-- /options -->`. The other cells
 * of a row are written by hand and kept; a new option gets its comment. Rows of route options are kept too.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { declaredOptions } from "./declared-options.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const marked = /(<!-- options (\S+) (\S+) -->\n\n?)([\s\S]*?)(\n<!-- \/options -->)/g;

/** The pages of docs/ as they are and as they should be. */
export function optionTables() {
  return readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => {
      const path = join(root, "docs", name);
      const text = readFileSync(path, "utf8");
      const tables = [...text.matchAll(marked)].length;
      return { path, text, tables, expected: text.replace(marked, rewritten) };
    });
}

function rewritten(_all, start, file, name, table, end) {
  const lines = table.trim().split("\n");
  const columns = cellsOf(lines[0]);
  const rows = lines.slice(2).map(cellsOf);
  const options = declaredOptions(join(root, file), name);
  const made = options.map((option) => {
    const row = rows.find(([first]) => first.startsWith(`\`${option.name}\``) && !first.includes("(route option)"));
    const cells = row ?? columns.map((_, index) => (index === 0 ? `\`${option.name}\`` : ""));
    return cells.map((cell, index) => cellOf(columns[index], cell, option, row === undefined));
  });
  const kept = rows.filter(([first]) => first.includes("(route option)"));
  const text = [columns, columns.map(() => "---"), ...made, ...kept]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
  return `${start}${text}\n${end}`;
}

function cellOf(column, cell, option, isNew) {
  if (column === "default") return defaultOf(option) ?? (cell === "" ? (option.said ?? "none") : cell);
  if (column === "type" && option.isDuration)
    return `[duration](guide.md#durations)${option.isMilliseconds ? ", a number in milliseconds" : ""}`;
  if (column === "meaning" && isNew) return option.comment.replace(/ ?Default:? .*$/, "");
  return cell;
}

/** The default, if the code says it in words or as a literal: the comment must say the same. */
function defaultOf({ name, said, written }) {
  if (written !== undefined && said !== undefined && said !== written && valueIn(said) !== written) {
    throw new Error(`the comment of '${name}' says the default ${said}, and the code ${written}`);
  }
  if (said === "required" || written === undefined) return said === "required" ? said : undefined;
  return /^(?:[-\d.]+|true|false|"[^"]*")$/.test(written) ? `\`${written}\`` : written;
}

/** The value at the beginning of a default in words: `16,384, below the limit` is 16384. */
function valueIn(said) {
  const [value] = said.split(/[:,] /);
  return value.replace(/^`(.*)`$/, '"$1"').replace(/(?<=\d),(?=\d)/g, "");
}

function cellsOf(line) {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, text, expected } of optionTables()) {
    if (text !== expected) writeFileSync(path, expected);
  }
}
