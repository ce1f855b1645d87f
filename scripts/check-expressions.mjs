/**
 * Finds regular expressions that take quadratic or exponential time on hostile input. Every literal and every
 * `new RegExp(...)` below src/ is checked; the pieces of the latter are followed to constants of the same file. An
 * expression may stay only with an entry, and its reason, in expression-exceptions.mjs.
 *
 *     node scripts/check-expressions.mjs [folder]
 *
 * The checker is recheck: its binary where the platform has one, else its JavaScript, with the same results in five times
 * the time. scslre is quicker still, but missed nine of the expressions found here, `/(\[\])+$/` among them. What recheck's
 * automata cannot decide, because of a lookbehind or of long bounded repetition, needs an entry too: its other way, which
 * tries texts at random, finds more or less from run to run.
 */
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import recheck from "recheck";
import ts from "typescript";
import { exceptions } from "./expression-exceptions.mjs";

const { check } = recheck;

/** More than any expression of a sane size needs, also on a busy machine. */
const timeout = 20 * 60_000;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.argv[2];
  const folder = resolve(given ?? fileURLToPath(new URL("../src", import.meta.url)));
  const { count, problems } = await checkExpressions(folder, given === undefined ? exceptions : []);
  for (const problem of problems) console.log(problem);
  console.log(`${problems.length} ${problems.length === 1 ? "problem" : "problems"} in ${count} regular expressions`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The problems found below a folder, one line each. `allowed` are entries such as those of expression-exceptions.mjs. */
export async function checkExpressions(folder, allowed) {
  const found = [];
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    if (!name.endsWith(".ts") || name.endsWith(".d.ts")) continue;
    const file = name.replaceAll(sep, "/");
    for (const each of expressionsIn(readFileSync(join(folder, name), "utf8"))) found.push({ file, ...each });
  }
  const unused = new Set(allowed);
  const open = found.filter(({ file, text }) => {
    const entry = allowed.find((each) => each.file === file && each.expression === text);
    if (entry) unused.delete(entry);
    return !entry;
  });
  const verdicts = await verdictsOf(open.filter(({ source }) => source !== undefined && repeats(source)));
  const problems = open.flatMap(({ file, line, text, source, flags }) => {
    if (source === undefined) return [`${file}:${line}: ${text} is built at run time and has no entry with a reason`];
    const verdict = verdicts.get(keyOf(source, flags)) ?? "safe";
    return verdict === "safe" ? [] : [`${file}:${line}: ${text}: ${verdict}`];
  });
  for (const { file, expression } of unused) {
    problems.push(`expression-exceptions.mjs: ${expression} is not in ${file} any more`);
  }
  return { count: found.length, problems };
}

/** The expressions of a source text. `source` is undefined where it is known at run time only. */
export function expressionsIn(code) {
  const file = ts.createSourceFile("file.ts", code, ts.ScriptTarget.Latest, true);
  const constants = constantsOf(file);
  const found = [];
  const visit = (node) => {
    if (ts.isRegularExpressionLiteral(node)) add(node, partsOf(node));
    else if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "RegExp") {
      const [pattern, flags] = (node.arguments ?? []).map((argument) => constantValue(argument, constants));
      const source = pattern?.source ?? pattern;
      const isKnown = typeof source === "string" && (!node.arguments?.[1] || typeof flags === "string");
      add(node, isKnown ? { source, flags: flags ?? pattern.flags ?? "" } : {});
    }
    ts.forEachChild(node, visit);
  };
  const add = (node, { source, flags }) => {
    const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    found.push({ line, text: node.getText().replace(/\s+/g, " "), source, flags });
  };
  visit(file);
  return found;
}

function partsOf(literal) {
  const end = literal.text.lastIndexOf("/");
  return { source: literal.text.slice(1, end), flags: literal.text.slice(end + 1) };
}

/** The initial values of the constants of a file, by name. A name that is declared twice is left out. */
function constantsOf(file) {
  const constants = new Map();
  const visit = (node) => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name)) {
      const isConstant = node.initializer && (ts.getCombinedNodeFlags(node) & ts.NodeFlags.Const) !== 0;
      constants.set(node.name.text, isConstant && !constants.has(node.name.text) ? node.initializer : undefined);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return constants;
}

/** The string, list or expression that a node stands for; undefined where that is not known before the program runs. */
function constantValue(node, constants) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isRegularExpressionLiteral(node)) return partsOf(node);
  if (ts.isIdentifier(node)) {
    const initial = constants.get(node.text);
    return initial && constantValue(initial, constants);
  }
  if (ts.isArrayLiteralExpression(node)) return allKnown(node.elements.map((item) => constantValue(item, constants)));
  if (ts.isTemplateExpression(node)) {
    const spans = node.templateSpans.flatMap((span) => [constantValue(span.expression, constants), span.literal.text]);
    return allKnown([node.head.text, ...spans], "string")?.join("");
  }
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { name, expression } = node.expression;
    const target = constantValue(expression, constants);
    const [first] = node.arguments;
    if (name.text === "join" && Array.isArray(target) && first) return target.join(constantValue(first, constants));
    if (name.text === "slice" && typeof target === "string") return target.slice(...node.arguments.map(numberOf));
  }
  return undefined;
}

function numberOf(node) {
  return Number(node.getText());
}

function allKnown(values, type) {
  return values.every((value) => value !== undefined && (!type || typeof value === type)) ? values : undefined;
}

/** Only repetition can make an expression slow; most have none. */
function repeats(source) {
  return /[*+{]/.test(source.replace(/\\./gs, "").replace(/\[[^\]]*\]/g, ""));
}

function keyOf(source, flags) {
  return `/${source}/${flags}`;
}

/** Verdicts by expression: "safe", or why not. Each expression is checked once. */
async function verdictsOf(expressions) {
  const waiting = [...new Map(expressions.map(({ source, flags }) => [keyOf(source, flags), { source, flags }]))];
  const verdicts = new Map();
  const work = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      verdicts.set(next[0], await verdictOn(next[1]));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return verdicts;
}

async function verdictOn({ source, flags }) {
  const { status, complexity, attack, error } = await check(source, flags, { checker: "automaton", timeout });
  if (status === "safe") return "safe";
  return status === "vulnerable" ? `${complexity.summary}, by ${attack.pattern}` : `not decided: ${error?.kind}`;
}
