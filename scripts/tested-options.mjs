/**
 * Finds, for every option, the tests that give it another value than its default. Options are those that `options()`,
 * `config()` and `checkedOptions()` declare, and the members of public types whose name ends in `Options`, `Config`,
 * `Limits` or `Policy`. The compiler tells which declaration a member of an object in a test belongs to, so a name that
 * several calls share counts for the right one.
 */
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { optionOf } from "./declared-options.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const declaring = /^(?:options|config|declare|checkedOptions)$/;
const optionType = /(?:Options|Config|Limits|Policy)$/;

/** Files of types that users write in place of those that a file declares: these are generic, or of another purpose. */
const twins = {
  "src/apis/grpc/declared-service.ts": "src/apis/grpc/service-types.ts",
  "src/orm/fields/field-options.ts": "src/orm/fields/field-types.ts",
  "src/cli/config.ts": "src/migrations/config.ts",
  "src/engines/messaging/topic.ts": "src/engines/messaging/topic.ts",
  "src/patterns/events/projections/projection.ts": "src/patterns/events/projections/projection.ts",
  "src/orm/query/sources.ts": "src/orm/query/source-types.ts",
  "src/orm/run/persist.ts": "src/orm/model/model.ts",
};

/** Every option by the call or the type that takes it, with the test files that use it. */
export function testedOptions() {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const include = { ...config, include: ["src", "test", "examples"] };
  const { options, fileNames } = ts.parseJsonConfigFileContent(include, ts.sys, root);
  return new Walk(ts.createProgram(fileNames, options)).run();
}

class Walk {
  #checker;
  #files;
  /** The names of options by the places of their declaration, and the tests that use these. */
  #declared = new Map();
  #uses = new Map();

  constructor(program) {
    this.#checker = program.getTypeChecker();
    this.#files = program.getSourceFiles().map((file) => [relative(root, file.fileName).replaceAll("\\", "/"), file]);
  }

  run() {
    for (const [path, file] of this.#files) {
      if (path.startsWith("src/") && path !== "src/kit/config.ts")
        this.#visit(file, (node) => this.#declare(node, path));
    }
    for (const [path, file] of this.#files) if (/^src\/entry\/[^/]+$/.test(path)) this.#declareExports(file);
    const tests = this.#files.filter(([path]) => /^(?:test|examples|src\/testing\/broker)\//.test(path));
    // The expected type of an object is cheap to find. The rest is not, and is looked for where it is needed.
    for (const [path, file] of tests) this.#visit(file, (node) => this.#use(node, path));
    const left = new Set(
      [...this.#found()].filter(([, uses]) => uses.length === 0).map(([name]) => name.split(" ")[0]),
    );
    for (const [path, file] of tests) this.#visit(file, (node) => this.#useOf(left, node, path));
    return this.#found();
  }

  #found() {
    const found = new Map();
    for (const [node, name] of this.#declared) {
      const uses = [node, ...this.#twinsOf(node)].flatMap((each) => [...(this.#uses.get(each) ?? [])]);
      found.set(name, [...(found.get(name) ?? []), ...uses]);
    }
    return found;
  }

  #visit(node, take) {
    if (isRefusal(node)) return;
    take(node);
    ts.forEachChild(node, (child) => this.#visit(child, take));
  }

  #declare(node, path) {
    if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression) || !declaring.test(node.expression.text))
      return;
    const symbol = this.#checker.getSymbolAtLocation(node.expression);
    const called = symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
    if (!called.declarations?.some((each) => pathOf(each) === "src/kit/config.ts")) return;
    const [first, fields] = node.arguments;
    const [written] = node.typeArguments ?? [];
    const isTyped = node.expression.text === "checkedOptions";
    if (isTyped ? written : fields) {
      const type = isTyped ? this.#checker.getTypeFromTypeNode(written) : this.#checker.getTypeAtLocation(fields);
      const owner = isTyped ? written.getText() : ts.isStringLiteral(first) ? first.text : path;
      this.#add(type, owner);
    }
  }

  #declareExports(file) {
    for (const exported of this.#checker.getExportsOfModule(this.#checker.getSymbolAtLocation(file))) {
      if (!optionType.test(exported.name)) continue;
      const symbol = exported.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported;
      const isType = symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias);
      if (isType) this.#add(this.#checker.getDeclaredTypeOfSymbol(symbol), exported.name);
    }
  }

  #add(type, owner) {
    for (const { name, declarations = [] } of this.#checker.getPropertiesOfType(type)) {
      // The second spelling has no declaration: it is that of the first.
      for (const node of declarations.filter((each) => !name.includes("_") && isIn("src/", each))) {
        if (!this.#declared.has(node)) this.#declared.set(node, `${name} of ${owner}`);
      }
    }
  }

  /** Members of types, beside a declaration of options, that say the same for generic or other reasons. */
  #twinsOf(node) {
    const path = pathOf(node);
    if (!ts.isPropertyAssignment(node) && !(path in twins)) return [];
    return [...this.#uses.keys()].filter(
      (other) =>
        !ts.isPropertyAssignment(other) &&
        other.name?.getText() === node.name.getText() &&
        [path, twins[path]].includes(pathOf(other)),
    );
  }

  #use(node, path) {
    if (ts.isStringLiteralLike(node) && node.text.includes("export default")) this.#useConfigFile(node.text, path);
    if (!ts.isObjectLiteralExpression(node)) return;
    const type = this.#checker.getContextualType(node);
    for (const [name, value] of type ? membersOf(node) : []) this.#note(type, name, value, path);
  }

  /** A config file that a test writes. */
  #useConfigFile(text, path) {
    const files = ["src/cli/config.ts", "src/migrations/config.ts"];
    const names = new Set();
    const source = ts.createSourceFile("config.ts", text, ts.ScriptTarget.Latest, true);
    const visit = (node) => {
      if (ts.isObjectLiteralExpression(node)) for (const [name] of membersOf(node)) names.add(name);
      ts.forEachChild(node, visit);
    };
    visit(source);
    for (const node of this.#declared.keys()) {
      if (files.includes(pathOf(node)) && names.has(node.name.getText())) this.#record(node, path);
    }
  }

  /** The same for these options alone, in every way. */
  #useOf(names, node, path) {
    if (ts.isCallExpression(node) && calledName(node).startsWith("enable")) this.#usePositions(node, path);
    const members = ts.isObjectLiteralExpression(node) ? membersOf(node).filter(([name]) => names.has(name)) : [];
    const types = members.length === 0 ? [] : this.#typesOf(node);
    for (const type of types) for (const [name, value] of members) this.#note(type, name, value, path);
  }

  /** `enableLivePage("/x")`: the parameters have the names of options, the first one with `OrOptions` behind it. */
  #usePositions(node, path) {
    const parameters = this.#parametersOf(node);
    const [first] = parameters;
    if (first === undefined || !ts.isIdentifier(first.name) || !/Or[A-Z]\w*$/.test(first.name.text)) return;
    const type = this.#checker.getTypeAtLocation(first);
    for (const [index, given] of (node.arguments ?? []).entries()) {
      const name = parameters[index]?.name;
      if (name === undefined || !ts.isIdentifier(name) || ts.isObjectLiteralExpression(given)) continue;
      const option = name.text.replace(/Or[A-Z]\w*$/, "");
      this.#note(type, option, given, path);
    }
  }

  #parametersOf(call) {
    const all = this.#checker.getResolvedSignature(call)?.getDeclaration()?.parameters ?? [];
    return all.filter(({ name }) => name.getText() !== "this");
  }

  #note(type, name, given, path) {
    const symbols = type ? partsOf(type).map((part) => this.#checker.getPropertyOfType(part, name)) : [];
    for (const node of symbols.flatMap((symbol) => symbol?.declarations ?? [])) {
      if (!isIn("src/", node)) continue;
      const standard = ts.isPropertyAssignment(node) ? optionOf(node, node.getSourceFile()).written : undefined;
      if (given !== undefined && given.getText() === standard) continue;
      this.#record(node, path);
    }
  }

  #record(node, path) {
    if (!this.#uses.has(node)) this.#uses.set(node, new Set());
    this.#uses.get(node).add(path);
  }

  /**
   * The types that an object is written for, where the expected type does not tell: that of the parameter, as it is declared;
   * those of the places where a variable or the parameter of a helper is used.
   */
  #typesOf(node, depth = 0) {
    const { parent } = node;
    const expected = ts.isExpression(node) ? this.#checker.getContextualType(node) : undefined;
    const types = expected ? [expected] : [];
    if (depth > 6) return types;
    if (ts.isAsExpression(parent) || ts.isParenthesizedExpression(parent) || ts.isSatisfiesExpression(parent)) {
      types.push(...this.#typesOf(parent, depth + 1));
    } else if (ts.isSpreadAssignment(parent)) {
      types.push(...this.#typesOf(parent.parent, depth + 1));
    } else if (ts.isPropertyAssignment(parent)) {
      const name = camelCase(parent.name.getText());
      for (const type of this.#typesOf(parent.parent, depth + 1)) types.push(...this.#memberTypes(type, name, node));
    } else if (ts.isArrayLiteralExpression(parent)) {
      for (const type of this.#typesOf(parent, depth + 1)) {
        types.push(...partsOf(type).map((part) => this.#checker.getIndexTypeOfType(part, ts.IndexKind.Number)));
      }
    } else if ((ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.arguments?.includes(node)) {
      const parameter = this.#parametersOf(parent)[parent.arguments.indexOf(node)];
      const type = parameter && this.#checker.getTypeAtLocation(parameter);
      if (type) types.push(this.#checker.getBaseConstraintOfType(type) ?? type);
      if (parameter && !isIn("src/", parameter)) types.push(...this.#typesOfUses(parameter, parameter.parent, depth));
    } else if (ts.isVariableDeclaration(parent) && !parent.type) {
      types.push(...this.#typesOfUses(parent, node.getSourceFile(), depth));
    }
    return types.filter((type) => type !== undefined);
  }

  #memberTypes(type, name, node) {
    const members = partsOf(type).map((part) => this.#checker.getPropertyOfType(part, name));
    return members.filter((member) => member).map((member) => this.#checker.getTypeOfSymbolAtLocation(member, node));
  }

  /** The types of the places inside of `scope` where a variable or a parameter stands. */
  #typesOfUses({ name }, scope, depth) {
    const types = [];
    const visit = (node) => {
      if (ts.isIdentifier(node) && ts.isIdentifier(name) && node.text === name.text && node !== name) {
        if (ts.isShorthandPropertyAssignment(node.parent)) {
          const outer = this.#typesOf(node.parent.parent, depth + 2);
          types.push(...outer.flatMap((type) => this.#memberTypes(type, node.text, node)));
          return;
        }
        const isMember = ts.isPropertyAccessExpression(node.parent) || ts.isPropertyAssignment(node.parent);
        if (!isMember || node.parent.initializer === node) types.push(...this.#typesOf(node, depth + 2));
      }
      ts.forEachChild(node, visit);
    };
    visit(scope);
    return types;
  }
}

/** The members of an object literal that have a name, in camel case, with their values. */
function membersOf(node) {
  return node.properties.flatMap(({ name, initializer }) =>
    name && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? [[camelCase(name.text), initializer]] : [],
  );
}

function calledName({ expression }) {
  return (ts.isPropertyAccessExpression(expression) ? expression.name : expression).getText();
}

function partsOf(type) {
  return type.isUnion() ? type.types : [type];
}

function pathOf(node) {
  return relative(root, node.getSourceFile().fileName).replaceAll("\\", "/");
}

function isIn(folder, node) {
  return pathOf(node).startsWith(folder);
}

/** `expect(() => ...).toThrow(...)`, and a test with a table of what is refused: a value that is refused proves no effect. */
function isRefusal(node) {
  if (!ts.isCallExpression(node)) return false;
  const called = node.expression;
  if (ts.isPropertyAccessExpression(called)) return called.name.text.startsWith("toThrow");
  const isTable = called.expression?.name?.text === "each" && called.expression.expression.text === "it";
  return isTable && /option '.*\.toThrow/s.test(node.getText());
}

function camelCase(name) {
  return name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}
