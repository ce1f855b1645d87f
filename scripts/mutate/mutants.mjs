/**
 * Makes mutants of a source file: copies with one small fault each, which a test should notice. Types, imports and the
 * messages of errors are left alone, because no test of behaviour can notice a change there.
 */
import ts from "typescript";

const operators = new Map([
  ["===", ["comparison", "!=="]],
  ["!==", ["comparison", "==="]],
  ["==", ["comparison", "!="]],
  ["!=", ["comparison", "=="]],
  ["<", ["boundary", "<="]],
  ["<=", ["boundary", "<"]],
  [">", ["boundary", ">="]],
  [">=", ["boundary", ">"]],
  ["&&", ["logic", "||"]],
  ["||", ["logic", "&&"]],
  ["+", ["arithmetic", "-"]],
  ["-", ["arithmetic", "+"]],
  ["*", ["arithmetic", "/"]],
  ["/", ["arithmetic", "*"]],
  ["%", ["arithmetic", "*"]],
  ["+=", ["arithmetic", "-="]],
  ["-=", ["arithmetic", "+="]],
  ["++", ["arithmetic", "--"]],
  ["--", ["arithmetic", "++"]],
]);

const methods = new Map(
  [
    ["some", "every"],
    ["push", "unshift"],
    ["shift", "pop"],
    ["find", "findLast"],
    ["indexOf", "lastIndexOf"],
    ["startsWith", "endsWith"],
    ["toLowerCase", "toUpperCase"],
    ["min", "max"],
  ].flatMap(([one, other]) => [
    [one, other],
    [other, one],
  ]),
);

const numbers = new Map([
  ["0", "1"],
  ["1", "0"],
]);

/** Functions whose text arguments are read by people only. */
const speaks = /error|warn|info|debug|fail|refus|problem|message|describe|invariant/i;

/**
 * @typedef {object} Mutant
 * @property {string} kind
 * @property {number} start the first character that is replaced
 * @property {number} end
 * @property {string} text the replacement
 */

/** @returns {Mutant[]} in the order of the source */
export function mutantsOf(source, fileName = "source.ts") {
  const file = ts.createSourceFile(fileName, source, ts.ScriptTarget.Latest, true);
  const found = [];
  const add = (kind, node, text) => found.push({ kind, start: node.getStart(file), end: node.getEnd(), text });
  const visit = (node) => {
    if (isSkipped(node)) return;
    mutate(node, add);
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(file, visit);
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

/** The source with the fault in it. */
export const applied = (source, { start, end, text }) => source.slice(0, start) + text + source.slice(end);

/** The line number of the fault and the lines after the change that hold it, for people. */
export function shown(source, mutant) {
  const line = source.slice(0, mutant.start).split("\n").length;
  const changed = applied(source, mutant)
    .split("\n")
    .slice(line - 1);
  return { line, changed: changed[0].trim(), before: source.split("\n")[line - 1].trim() };
}

function isSkipped(node) {
  if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return true;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return true;
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isTypeParameterDeclaration(node))
    return true;
  return node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword) ?? false;
}

function mutate(node, add) {
  if (ts.isBinaryExpression(node)) return mutateOperator(node, node.operatorToken, add);
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) return mutateUnary(node, add);
  if (ts.isIfStatement(node)) return mutateIf(node, add);
  if (ts.isConditionalExpression(node)) return add("condition", node.condition, negated(node.condition));
  if (ts.isWhileStatement(node)) return add("condition", node.expression, negated(node.expression));
  if (ts.isExpressionStatement(node) && isRemovable(node.expression)) return add("removed call", node, ";");
  if (ts.isAwaitExpression(node)) return add("await", node, node.expression.getText());
  if (ts.isCallExpression(node)) return mutateMethod(node, add);
  return mutateLiteral(node, add);
}

function mutateOperator(node, token, add) {
  const [kind, text] = operators.get(token.getText()) ?? [];
  if (kind && !(kind === "arithmetic" && (isText(node.left) || isText(node.right)))) add(kind, token, text);
}

function mutateUnary(node, add) {
  const { operator, operand } = node;
  if (operator === ts.SyntaxKind.ExclamationToken) return add("condition", node, operand.getText());
  if (operator === ts.SyntaxKind.MinusToken && operand.getText() === "1") return add("constant", node, "1");
  if (operator !== ts.SyntaxKind.PlusPlusToken && operator !== ts.SyntaxKind.MinusMinusToken) return;
  const [from, to] = operator === ts.SyntaxKind.PlusPlusToken ? ["++", "--"] : ["--", "++"];
  add("arithmetic", node, node.getText().replace(from, to));
}

/** A guard (`if (x) return y;`) also loses its early return. */
function mutateIf(node, add) {
  add("condition", node.expression, negated(node.expression));
  if (!node.elseStatement && ts.isReturnStatement(node.thenStatement)) add("early return", node, ";");
}

/** The call that is a whole statement, awaited or not. The call of a base constructor cannot go. */
function isRemovable(expression) {
  const call = ts.isAwaitExpression(expression) ? expression.expression : expression;
  return ts.isCallExpression(call) && call.expression.kind !== ts.SyntaxKind.SuperKeyword;
}

function mutateMethod({ expression: called }, add) {
  const other = ts.isPropertyAccessExpression(called) && methods.get(called.name.text);
  if (other) add("method", called.name, other);
}

function mutateLiteral(node, add) {
  if (node.kind === ts.SyntaxKind.TrueKeyword) return add("boolean", node, "false");
  if (node.kind === ts.SyntaxKind.FalseKeyword) return add("boolean", node, "true");
  if (ts.isNumericLiteral(node) && numbers.has(node.text) && isValue(node) && !isMinus(node.parent)) {
    return add("constant", node, numbers.get(node.text));
  }
  if (ts.isStringLiteral(node) && isValue(node) && !isMessage(node)) {
    add("text", node, node.text === "" ? '"mutant"' : '""');
  }
}

const negated = (node) => `!(${node.getText()})`;

const isText = (node) =>
  ts.isStringLiteral(node) ||
  ts.isTemplateExpression(node) ||
  ts.isNoSubstitutionTemplateLiteral(node) ||
  (ts.isBinaryExpression(node) && (isText(node.left) || isText(node.right)));

const isMinus = (node) => ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken;

/** Neither the name of a property nor the path of a module. */
function isValue({ parent, ...node }) {
  if (ts.isCallExpression(parent) && parent.expression.kind === ts.SyntaxKind.ImportKeyword) return false;
  return !("name" in parent && parent.name?.pos === node.pos);
}

/** True for text inside an error, a `throw`, or the call of a function that reports something. */
function isMessage(node) {
  for (let at = node; at.parent && !ts.isFunctionLike(at); at = at.parent) {
    const { parent } = at;
    if (ts.isThrowStatement(parent)) return true;
    if ((ts.isNewExpression(parent) || ts.isCallExpression(parent)) && parent.expression !== at) {
      if (speaks.test(parent.expression.getText())) return true;
    }
    if (ts.isPropertyAssignment(parent) && /message|detail|hint|description|summary/i.test(parent.name.getText()))
      return true;
    if (ts.isBlock(parent)) return false;
  }
  return false;
}
