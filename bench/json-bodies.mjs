/**
 * CPU time to read a JSON body: Stoa's strict reading (UTF-8, depth, forbidden keys, numbers out of range) against
 * JSON.parse of the same bytes, for many shapes of bodies of nearly the default limit. The aim is at most 1.5 for each.
 * `node bench/json-bodies.mjs [rounds] [part of a name] [--size MiB]`; needs no build.
 *
 * After them, bodies of a model: lists of items that it refuses, for which the same holds, and lists that it accepts, whose
 * items are converted to the values of their columns and cost more.
 *
 * "of bytes" is the ratio to `JSON.parse(bytes.toString())`, "of text" to JSON.parse of a text that is already decoded.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { rolldown } from "rolldown";
import { median } from "./lib/statistics.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { size: { type: "string", default: "9" } },
});
const rounds = Number(positionals[0] ?? 9);
const only = positionals[1] ?? "";
const size = Number(values.size) * 1024 * 1024;
const { parseJson, Model, field, modelBodyReader } = await sources();

/** A list of items that fills the size. */
function list(item) {
  const parts = [];
  for (let length = 2, i = 0; length < size; i++) {
    const text = item(i);
    parts.push(text);
    length += text.length + 1;
  }
  return `[${parts.join(",")}]`;
}
const object = (item) => `{${list(item).slice(1, -1)}}`;
const digits = (count) => (i) => `${(i % 9) + 1}${"1234567890".repeat(Math.ceil(count / 10)).slice(0, count - 1)}`;
const string = (text) => `"${text}"`;
const nested = (depth, inner) => "[".repeat(depth) + inner + "]".repeat(depth);
const book = (i) =>
  `{"id":${i},"title":"Book number ${i}","price":12.5,"tags":["new","cheap"],"author":{"name":"Ann","born":1970},"sold":true,"note":null}`;

const shapes = {
  "numbers of 1 digit": () => list(digits(1)),
  "numbers of 5 digits": () => list(digits(5)),
  "numbers of 17 digits": () => list(digits(17)),
  "numbers of 100 digits": () => list(digits(100)),
  "numbers of 210 digits": () => list(digits(210)),
  "numbers of 300 digits": () => list(digits(300)),
  "numbers of 308 digits": () => list(digits(308)),
  "numbers of 300 digits, pretty": () => list((i) => `\n  ${digits(300)(i)}`),
  "300 digits and a fraction": () => list((i) => `${digits(300)(i)}.5`),
  "300 digits and a small exponent": () => list((i) => `${digits(300)(i)}e-5`),
  "250 digits and an exponent": () => list((i) => `${digits(250)(i)}e20`),
  "fractions of 300 digits": () => list((i) => `0.${digits(300)(i)}`),
  "fractions of 17 digits": () => list((i) => `0.${digits(17)(i)}`),
  "negative fractions": () => list((i) => `-${i % 1000}.25`),
  "exponents of 1 digit": () => list((i) => `${i % 10}e5`),
  "exponents of 2 digits": () => list((i) => `${(i % 9) + 1}.5E+20`),
  "exponents of 3 digits": () => list((i) => `${(i % 9) + 1}e300`),
  "exponents of 3 digits, negative": () => list((i) => `-${(i % 9) + 1}.25e-300`),
  "exponents with zeros": () => list((i) => `${(i % 9) + 1}e00005`),
  "zeros and a long exponent": () => list(() => `0.${"0".repeat(300)}1e305`),
  "one number of all digits": () => `0.${"1".repeat(size)}`,
  "objects of numbers of 300 digits": () => list((i) => `{"value":${digits(300)(i)}}`),
  "empty arrays": () => list(() => "[]"),
  "empty objects": () => list(() => "{}"),
  "arrays of depth 100": () => list(() => nested(100, "1")),
  "objects of depth 100": () => list(() => '{"a":'.repeat(100) + 1 + "}".repeat(100)),
  "true, false and null": () => list((i) => ["true", "false", "null"][i % 3]),
  "many keys": () => object((i) => `"key${i}":1`),
  "many keys of 60 characters": () => object((i) => `"${"k".repeat(50)}${String(i).padStart(10, "0")}":1`),
  "many keys that begin like a forbidden one": () => object((i) => `"constructo${i}":1`),
  "many keys that end in proto": () => object((i) => `"__proto${i}":1`),
  "constructors and prototypes apart": () => list((i) => (i % 2 ? '{"constructor":1}' : '{"prototype":{}}')),
  "keys of escapes": () => object((i) => `"\\u0061\\u0062${i}":1`),
  "short strings": () => list((i) => string(`item ${i}`)),
  "strings of 1,000 characters": () => list((i) => string(`${i} `.padEnd(1000, "abc def "))),
  "strings of 1,000 digits": () => list((i) => string(digits(1000)(i))),
  "one long string": () => string("x".repeat(size)),
  "one long string of quotes": () => string('\\"'.repeat(size / 2)),
  "one long string of backslashes": () => string("\\\\".repeat(size / 2)),
  "one long string of brackets": () => string("[{".repeat(size / 2)),
  "one long string of r": () => string("r".repeat(size)),
  "one long string of roto": () => string("roto".repeat(size / 4)),
  "one long string of unicode escapes": () => string("\\u0041".repeat(size / 6)),
  "strings with line breaks": () => list((i) => string(`line ${i}\\nnext\\tend\\n`)),
  "strings with unicode escapes": () => list((i) => string(`\\u00e9t\\u00e9 ${i}`)),
  "strings of Latin letters": () => list((i) => string(`été à la plage ${i}`)),
  "strings of Greek letters": () => list((i) => string(`στοά των αθηνών ${i}`)),
  "strings of emoji": () => list((i) => string(`😀😃😄 ${i}`)),
  "one emoji in ASCII": () => list((i) => (i === 0 ? '"😀"' : book(i))),
  "white space": () => `[${" ".repeat(size)}]`,
  "pretty objects": () =>
    JSON.stringify(JSON.parse(list(book)), null, 2)
      .slice(0, size)
      .replace(/,\n {2}\{[\s\S]{0,400}$/, "\n]"),
  books: () => list(book),
  "books and a proto": () => list((i) => (i === 0 ? '{"note":"a proto"}' : book(i))),
  "books and a long number": () => list((i) => (i === 0 ? digits(300)(i) : book(i))),
  mixed: () => list((i) => [book(i), digits(300)(i), `"\\u00e9${i}"`, "-1.5e300", '"στοά"', nested(20, "0")][i % 6]),
};

const lists = {
  int: field.array(field.int()),
  bigint: field.array(field.bigInt()),
  decimal: field.array(field.decimal({ precision: 30, scale: 5 })),
  float: field.array(field.float()),
  bool: field.array(field.bool()),
  text: field.array(field.text()),
  uuid: field.array(field.uuid()),
  datetime: field.array(field.datetime()),
  bytes: field.array(field.bytes()),
  json: field.json(),
};
const uuid = (i) => `${String(i).padStart(8, "0")}-0000-4000-8000-000000000000`;
const time = (month) => (i) => string(`2024-${month}-01T00:00:${String(i % 60).padStart(2, "0")}Z`);

const refused = {
  int: {
    texts: () => list((i) => string(`x${i}`)),
    nulls: () => list(() => "null"),
    fractions: () => list((i) => `${i % 1000}.5`),
    "17 digits": () => list(digits(17)),
  },
  bigint: { texts: () => list((i) => string(`x${i}`)), "20 digits": () => list(digits(20)) },
  decimal: { texts: () => list((i) => string(`x${i}`)), "300 digits": () => list(digits(300)) },
  bool: { numbers: () => list((i) => `${i + 2}`) },
  text: { numbers: () => list((i) => `${i}`) },
  bytes: { percents: () => list((i) => string(`%%${i}`)) },
  uuid: { "short by a digit": () => list((i) => string(uuid(i).slice(0, -1))) },
  datetime: { "month 13": () => list(time("13")) },
};
const accepted = {
  int: { "5 digits": () => list(digits(5)) },
  bigint: { "17 digits": () => list(digits(17)) },
  decimal: { fractions: () => list((i) => `${i % 1000}.25`), "20 digits": () => list(digits(20)) },
  float: { fractions: () => list((i) => `${i % 1000}.25`) },
  text: { short: () => list((i) => string(`item ${i}`)) },
  uuid: { dashes: () => list((i) => string(uuid(i))) },
  datetime: { "in UTC": () => list(time("12")) },
  bytes: { short: () => list((i) => string(Buffer.from(`abc ${i}`).toString("base64"))) },
  json: { books: () => list(book) },
};

console.log(`${"shape".padEnd(44)}${"JSON.parse".padStart(12)}${"of bytes".padStart(20)}${"of text".padStart(20)}`);
const over = [];
for (const [name, make] of Object.entries(shapes)) {
  if (!name.includes(only)) continue;
  let bytes = Buffer.from(make());
  if (bytes.length > 1.2 * size) bytes = Buffer.from(truncated(bytes));
  if (measured(name, bytes, parseJson) > 1.5) over.push(name);
}
const read = modelBodyReader(class Lists extends Model("lists", { id: field.auto(), ...lists }) {}.meta, "partial");
for (const [kind, byColumn] of Object.entries({ refused, accepted })) {
  for (const [column, items] of Object.entries(byColumn)) {
    for (const [item, make] of Object.entries(items)) {
      const name = `${kind} by a model: ${column}, ${item}`;
      if (!name.includes(only)) continue;
      const bytes = Buffer.from(`{"${column}":${make()}}`);
      if ((read(bytes).issues === undefined) !== (kind === "accepted")) throw new Error(`not ${name}`);
      if (measured(name, bytes, read) > 1.5 && kind === "refused") over.push(name);
    }
  }
}
console.log(over.length === 0 ? "none is over 1.5 of bytes" : `over 1.5 of bytes: ${over.join("; ")}`);

/** Prints the figures of a body, and returns the ratio to JSON.parse of its bytes. */
function measured(name, bytes, parse) {
  const figures = compare(bytes, parse);
  console.log(
    `${name.padEnd(44)}${`${figures.base.toFixed(1)} ms`.padStart(12)}${ratio(figures.ofBytes)}${ratio(figures.ofText)}`,
  );
  return figures.ofBytes.middle;
}

/** The same kind of list in fewer bytes: texts of several bytes a character are longer than their shape asks. */
function truncated(bytes) {
  const items = JSON.parse(bytes.toString());
  return JSON.stringify(
    Array.isArray(items) ? items.slice(0, Math.floor((items.length * size) / bytes.length)) : items,
  );
}

function compare(bytes, parse) {
  const text = bytes.toString();
  const sides = [() => parse(bytes), () => JSON.parse(bytes.toString()), () => JSON.parse(text)];
  const ofBytes = [];
  const ofText = [];
  const base = [];
  for (let round = 0; round <= rounds; round++) {
    const [ours, decoded, bare] = sides.map(cpu);
    // The first one compiles.
    if (round === 0) continue;
    ofBytes.push(ours / decoded);
    ofText.push(ours / bare);
    base.push(decoded);
  }
  return { base: median(base), ofBytes: range(ofBytes), ofText: range(ofText) };
}

/** The CPU time of one run in milliseconds: as many runs as 30 ms take, the garbage of the others collected before. */
function cpu(run) {
  globalThis.gc?.();
  const start = process.cpuUsage();
  let runs = 0;
  for (let used = 0; used < 30_000; runs++) {
    run();
    const { user, system } = process.cpuUsage(start);
    used = user + system;
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000 / runs;
}

function range(ratios) {
  return { middle: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) };
}

function ratio({ middle, low, high }) {
  return `${middle.toFixed(2)} (${low.toFixed(2)}-${high.toFixed(2)})`.padStart(20);
}

/** The readers of the working tree, without a build of the package. */
async function sources() {
  const folder = mkdtempSync(join(tmpdir(), "stoa-json-"));
  const entry = join(folder, "entry.ts");
  const source = (path) => JSON.stringify(new URL(`../src/${path}.ts`, import.meta.url).pathname);
  writeFileSync(
    entry,
    `export * from ${source("http/json/json")}; export { Model, field } from ${source("entry/orm")};
export { modelBodyReader } from ${source("orm/body/model-body")};`,
  );
  try {
    const build = await rolldown({ input: entry, platform: "node", logLevel: "silent" });
    const { output } = await build.write({ dir: folder, format: "esm" });
    await build.close();
    return await import(pathToFileURL(join(folder, output[0].fileName)).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
