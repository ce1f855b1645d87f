/** Reads declarations of options from the text of sources: no build and no type check, so that it takes milliseconds. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";

/** The options of `options(...)`, `config(...)` or an object of fields with this name: name, comment, default, unit. */
export function declaredOptions(file, name) {
  const source = parse(file);
  const declared = namedIn(source).get(name);
  if (declared === undefined) throw new Error(`${file} declares no ${name}`);
  const base = ts.isClassDeclaration(declared) ? declared.heritageClauses[0].types[0].expression : declared.initializer;
  return listed(source, ts.isCallExpression(base) ? base.arguments[1] : base);
}

/** The calls of `options(...)`, `config(...)` and `checkedOptions(...)` in a file: who takes the options, and the options. */
export function declarationsOf(file) {
  const source = parse(file);
  const found = [];
  const visit = (node) => {
    const called = ts.isCallExpression(node) && ts.isIdentifier(node.expression) ? node.expression.text : "";
    const [first, second] = node.arguments ?? [];
    if (called === "checkedOptions" && node.typeArguments) {
      found.push({ owner: node.typeArguments[0].getText(), fields: listed(source, first) });
    } else if (/^(?:options|config)$/.test(called) && second) {
      found.push({ owner: ts.isStringLiteral(first) ? first.text : "a route", fields: listed(source, second) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The options of an object of fields, or of a name for one. */
function listed(source, fields) {
  if (ts.isAsExpression(fields)) return listed(source, fields.expression);
  if (ts.isIdentifier(fields)) {
    const declared = namedIn(source).get(fields.text);
    return declared
      ? listed(source, declared.initializer)
      : declaredOptions(importedFrom(source, fields.text), fields.text);
  }
  return fields.properties.flatMap((property) =>
    ts.isSpreadAssignment(property) ? listed(source, property.expression) : [optionOf(property, source)],
  );
}

/** The variables and classes of a file by name. */
function namedIn(source) {
  const found = new Map();
  const visit = (node) => {
    if ((ts.isVariableDeclaration(node) || ts.isClassDeclaration(node)) && node.name) found.set(node.name.text, node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The file that a name is imported from. */
function importedFrom(source, name) {
  const from = source.statements.find(
    (node) =>
      ts.isImportDeclaration(node) &&
      node.importClause?.namedBindings?.elements?.some((item) => item.name.text === name),
  );
  if (from === undefined) throw new Error(`${source.fileName} neither declares nor imports ${name}`);
  return join(dirname(source.fileName), from.moduleSpecifier.text.replace(/\.js$/, ".ts"));
}

export function parse(file) {
  return ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
}

export function optionOf(property, source) {
  // An option that is declared elsewhere, such as `tls` of several servers, has its comment here.
  const call = ts.isCallExpression(property.initializer) ? property.initializer : { arguments: [], getText: () => "" };
  const kind = call.expression?.getText(source);
  const comment = (property.jsDoc?.[0]?.comment ?? "").replace(/\s+/g, " ");
  const [, said] = /Default:? (.*?)(?:\. |\.?$)/.exec(comment) ?? [];
  const position = { "option.duration": 0, "option.milliseconds": 0, "option.made": 2, "option.secret": 2 }[kind] ?? 1;
  const [written, shown] = [call.arguments[position], call.arguments[position + 1]];
  const isDuration = /^option\.(?:duration|milliseconds)$/.test(kind) || /isDuration\(/.test(call.getText(source));
  return {
    name: property.name.text,
    comment,
    isDuration,
    isMilliseconds: kind === "option.milliseconds",
    check: call.arguments[0]?.getText(source) ?? "",
    /** The default as the comment says it, and as the code has it where it is a literal. */
    said: kind === "option.required" ? "required" : said,
    written: isDuration ? inWords(written) : shown && ts.isStringLiteral(shown) ? shown.text : literal(written),
  };
}

function literal(node) {
  if (node === undefined) return undefined;
  if (ts.isNumericLiteral(node)) return node.text;
  if (ts.isStringLiteral(node)) return `"${node.text}"`;
  return /^(?:true|false)$/.test(node.getText()) ? node.getText() : undefined;
}

const units = { ms: "ms", s: "second", m: "minute", h: "hour", d: "day" };

/** "1h" as a comment says it: "1 hour". */
function inWords(node) {
  const [, count, unit] = (node && ts.isStringLiteral(node) && /^(\d+)(ms|s|m|h|d)$/.exec(node.text)) || [];
  if (count === undefined) return undefined;
  return `${count} ${units[unit]}${unit === "ms" || count === "1" ? "" : "s"}`;
}
