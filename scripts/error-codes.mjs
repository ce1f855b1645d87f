/**
 * The codes of the errors that the framework sends or throws, from its sources: the keys of the table of errors, the members of
 * types named `...ErrorCode`, values of a property `code`, and codes that are given to an error when it is made.
 *
 *     node scripts/error-codes.mjs
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const form = /^[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*$/;

/** Codes of others: of the operating system, of Node, of `ws`, of the standard of HTTP/2. */
const foreign = /^(?:E[A-Z]+|ERR_\w+|HPE_\w+|NGHTTP2_\w+|WS_ERR_\w+)$/;

/** Returns the codes with the files that have them, sorted. */
export function errorCodes(folder = join(root, "src")) {
  const found = new Map();
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith(".ts")) continue;
    const text = readFileSync(join(folder, name), "utf8");
    if (!/"[A-Z][A-Z0-9_]+"|\berrorTable\b/.test(text)) continue;
    const add = (code) => {
      if (form.test(code) && !foreign.test(code)) found.set(code, (found.get(code) ?? new Set()).add(name));
    };
    visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true), add);
  }
  return new Map([...found].map(([code, files]) => [code, [...files]]).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function visit(node, add) {
  if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) && node.name.text === "code")
    literals(node.initializer, add);
  if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.name.text === "errorTable") keys(node, add);
  if (ts.isTypeAliasDeclaration(node) && /ErrorCode$/.test(node.name.text)) literals(node.type, add);
  if (
    (ts.isCallExpression(node) || ts.isNewExpression(node)) &&
    /(?:[eE]rror|refusal|warnOnce)$/.test(node.expression.getText())
  ) {
    for (const argument of node.arguments ?? []) literals(argument, add);
  }
  ts.forEachChild(node, (child) => visit(child, add));
}

/** Every text in a value that is a text, a choice between texts, or a union of them. */
function literals(node, add) {
  if (ts.isStringLiteral(node)) add(node.text);
  else if (ts.isLiteralTypeNode(node) && ts.isStringLiteral(node.literal)) add(node.literal.text);
  else if (ts.isConditionalExpression(node)) for (const each of [node.whenTrue, node.whenFalse]) literals(each, add);
  else if (ts.isUnionTypeNode(node)) for (const each of node.types) literals(each, add);
}

function keys(node, add) {
  ts.forEachChild(node, (child) => {
    if (ts.isPropertyAssignment(child) && ts.isIdentifier(child.name)) add(child.name.text);
    keys(child, add);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [code, files] of errorCodes()) console.log(`${code.padEnd(32)} ${files.join(", ")}`);
}
