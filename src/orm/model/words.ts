import { capitalized } from "../../kit/names.js";

/** English words in the names of tables and columns. */

/**
 * The words of a name in lower case: the same two for `created_at`, `createdAt` and `Created At`. Marks on letters are
 * removed, other letters outside ASCII are dropped.
 */
export function wordsOf(name: string): string[] {
  return name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replaceAll("ß", "ss")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase());
}

export function pascalCase(words: readonly string[]): string {
  return words.map(capitalized).join("");
}

export function camelWords(words: readonly string[]): string {
  const name = pascalCase(words);
  return name.charAt(0).toLowerCase() + name.slice(1);
}

/** The words with the last one in the singular: `order_lines` gives `order line`. */
export function singularWords(words: readonly string[]): string[] {
  return words.map((word, index) => (index === words.length - 1 ? singular(word) : word));
}

export function pluralWords(words: readonly string[]): string[] {
  return words.map((word, index) => (index === words.length - 1 ? plural(singular(word)) : word));
}

const irregular = new Map([
  ["people", "person"],
  ["children", "child"],
  ["men", "man"],
  ["women", "woman"],
  ["mice", "mouse"],
  ["feet", "foot"],
  ["teeth", "tooth"],
  ["geese", "goose"],
  ["indices", "index"],
  ["matrices", "matrix"],
  ["vertices", "vertex"],
  ["statuses", "status"],
  ["aliases", "alias"],
  ["movies", "movie"],
  ["cookies", "cookie"],
  ["analyses", "analysis"],
  ["bases", "base"],
]);
const irregularPlurals = new Map([...irregular].map(([many, one]) => [one, many]));
const same = new Set(["news", "series", "species", "data", "media", "sms", "gps", "dns", "settings", "sheep"]);

function singular(word: string): string {
  const known = irregular.get(word);
  if (known !== undefined) return known;
  if (same.has(word) || !word.endsWith("s") || /(?:ss|us|is)$/.test(word) || word.length < 4) return word;
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:ss|x|ch|sh|zz)es$/.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

function plural(word: string): string {
  const known = irregularPlurals.get(word);
  if (known !== undefined) return known;
  if (same.has(word)) return word;
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return /(?:s|x|ch|sh|z)$/.test(word) ? `${word}es` : `${word}s`;
}
