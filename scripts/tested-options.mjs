/** Finds, for every declared option, the tests that give it another value than its default. */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { declarationsOf, parse } from "./declared-options.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Every option of `src/` by the call that takes it, with the test files that use it. */
export function testedOptions() {
  const uses = usesInTests();
  const seen = new Map();
  for (const file of typescriptIn("src").filter((name) => name !== join("src", "kit", "config.ts"))) {
    for (const { owner, fields } of declarationsOf(join(root, file))) {
      for (const { name, written } of fields) {
        const key = `${name} of ${owner}`;
        const found = [name, snakeCase(name)].flatMap((spelling) => uses.get(spelling) ?? []);
        const tests = found.filter((use) => use.value !== written && isAbout(use, file, owner));
        seen.set(key, [...(seen.get(key) ?? []), ...tests.map((use) => use.file)]);
      }
    }
  }
  return seen;
}

/** True if a test file is of the folder of the declaration, or names the call or class that takes the option. */
function isAbout(use, file, owner) {
  const [, area, part] = file.split(sep);
  if (area === "routing") return true;
  const isParted = /^(?:apis|batteries|engines|patterns)$/.test(area);
  const [, testArea, testPart] = use.file.split(sep);
  if (testArea === area && (!isParted || testPart === part || testPart.endsWith(".test.ts"))) return true;
  const name = owner === "a consumer" ? "onMessage(" : /\benable\w+|\b[A-Z]\w+/.exec(owner)?.[0];
  if (name === undefined) return false;
  // The class of the options of `enableX` is `XConfig`.
  const call = name.replace(/^(\w+)Config$/, "enable$1").toLowerCase();
  return use.text.includes(name.toLowerCase()) || use.text.includes(call);
}

/** The members of object literals in tests, by name. A value that is only refused proves no effect, so it does not count. */
function usesInTests() {
  const uses = new Map();
  for (const file of [...typescriptIn("test"), ...typescriptIn("examples")]) {
    const text = readFileSync(join(root, file), "utf8").toLowerCase();
    const visit = (node) => {
      if (isRefusal(node)) return;
      // A config file that a test writes.
      if (ts.isStringLiteralLike(node) && node.text.includes("export default")) {
        visit(ts.createSourceFile("config.ts", node.text, ts.ScriptTarget.Latest, true));
      }
      const name = ts.isObjectLiteralElement(node) ? node.name?.text : undefined;
      if (name !== undefined) {
        const given = node.initializer;
        const value = given && !ts.isObjectLiteralExpression(given) ? given.getText() : "";
        if (!uses.has(name)) uses.set(name, []);
        uses.get(name).push({ file, text, value });
      }
      ts.forEachChild(node, visit);
    };
    visit(parse(join(root, file)));
  }
  return uses;
}

/** `expect(() => ...).toThrow(...)`, and a test with a table of what is refused. */
function isRefusal(node) {
  if (!ts.isCallExpression(node)) return false;
  const called = node.expression;
  if (ts.isPropertyAccessExpression(called)) return called.name.text.startsWith("toThrow");
  const isTable = called.expression?.name?.text === "each" && called.expression.expression.text === "it";
  return isTable && /option '.*\.toThrow/s.test(node.getText());
}

function typescriptIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.includes("node_modules"))
    .map((name) => join(folder, name));
}

function snakeCase(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
