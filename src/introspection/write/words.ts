/** English names from those of tables and columns. */

/** The words of a name, in small letters: of `created_at`, `createdAt` and `Created At` the same two. Letters that are not ASCII lose their marks, or are left out. */
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
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

export function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

export function camelWords(words: readonly string[]): string {
  return lowerFirst(pascalCase(words));
}

/** The words with the last one in the singular: `order_lines` is a table of things that are an order line each. */
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
