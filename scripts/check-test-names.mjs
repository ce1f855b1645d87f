/**
 * Checks that the name of every test can be read alone in a list of failures, as far as a program can: it begins with a
 * capital letter, code, a quote or a placeholder, has three words at least, and no full stop at its end. Names that are
 * not written as a literal are not checked.
 *
 *     node scripts/check-test-names.mjs [folder]
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** A capital letter, a quote, a placeholder, or code: `isToken()`, `request.json()`, `snake_case`, `camelCase`. */
const beginning = /^(?:\p{Lu}|["'`%$]|\p{Ll}[\p{L}\d]*[\p{Lu}_.(])/u;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = resolve(process.argv[2] ?? fileURLToPath(new URL("../test", import.meta.url)));
  const { count, problems } = checkTestNames(folder);
  for (const problem of problems) console.log(problem);
  console.log(`${problems.length} ${problems.length === 1 ? "problem" : "problems"} in ${count} names of tests`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The problems of the test files below a folder, one line each, and the number of checked names. */
export function checkTestNames(folder) {
  const problems = [];
  let count = 0;
  for (const path of readdirSync(folder, { recursive: true }).sort()) {
    // Tests that several files share stand in files of other names.
    if (!path.endsWith(".ts")) continue;
    for (const { line, name } of testNamesIn(readFileSync(join(folder, path), "utf8"))) {
      count++;
      const problem = problemOf(name);
      if (problem !== null) problems.push(`${path.replaceAll(sep, "/")}:${line}: "${name}" ${problem}`);
    }
  }
  return { count, problems };
}

/** The names in calls such as `it("name", ...)` and `test.each(table)("name", ...)`, with their lines. */
export function testNamesIn(code) {
  const file = ts.createSourceFile("file.ts", code, ts.ScriptTarget.Latest, true);
  const found = [];
  const visit = (node) => {
    const [first] = ts.isCallExpression(node) && isTest(node.expression) ? node.arguments : [];
    const name = first && textOf(first);
    if (name !== undefined) found.push({ line: file.getLineAndCharacterOfPosition(first.getStart()).line + 1, name });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** True for `it` and `test`, their members, and calls of these. */
function isTest(node) {
  if (ts.isIdentifier(node)) return node.text === "it" || node.text === "test";
  if (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) return isTest(node.expression);
  return ts.isTaggedTemplateExpression(node) && isTest(node.tag);
}

function textOf(node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  return ts.isTemplateExpression(node) ? node.getText().slice(1, -1) : undefined;
}

function problemOf(name) {
  if (!beginning.test(name)) return "begins neither with a capital letter nor with code";
  if (name.split(/\s+/).length < 3) return "is not a sentence: it has less than three words";
  return name.endsWith(".") ? "ends with a full stop" : null;
}
