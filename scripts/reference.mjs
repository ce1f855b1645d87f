/**
 * The reference of the package, from its published types: a page for each entry, with the classes, functions and options that it
 * exports, their comments, and both spellings of a name. `npm run site` writes them into docs/reference, which is not kept.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "./process.mjs";

/** Characters of a type that are shown. */
const longest = 300;

/** The entries of the package: `[{ name: "stoa/orm", file: "orm.md", types: "dist/entry/orm.d.ts" }]`. */
export function referencePages() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.entries(exports)
    .filter(([, entry]) => entry.types !== undefined)
    .map(([path, { types }]) => {
      const name = path.replace(/^\./, "stoa");
      return { name, file: `${name.replaceAll("/", "-")}.md`, types: join(root, types) };
    });
}

/** The text of each page, by its file. The package must have been built. */
export function referenceTexts() {
  const pages = referencePages();
  const program = ts.createProgram(
    pages.map(({ types }) => types),
    {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      strict: true,
      skipLibCheck: true,
      types: ["node"],
    },
  );
  const checker = program.getTypeChecker();
  return Object.fromEntries(
    pages.map(({ name, file, types }) => {
      const module = checker.getSymbolAtLocation(program.getSourceFile(types));
      return [file, new Page(checker, name).write(checker.getExportsOfModule(module))];
    }),
  );
}

export function writeReference(folder = join(root, "docs/reference")) {
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(referenceTexts())) writeFileSync(join(folder, file), text);
}

/** `bodyLimit` in snake case. */
function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

class Page {
  #checker;
  #name;

  constructor(checker, name) {
    this.#checker = checker;
    this.#name = name;
  }

  write(exports) {
    const sections = { Classes: [], Functions: [], Values: [], "Options and types": [] };
    const sorted = [...exports].sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
    for (const each of sorted) {
      const symbol = each.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(each) : each;
      const [section, text] = this.#entry(each.name, symbol);
      sections[section].push(text);
    }
    const parts = Object.entries(sections).filter(([, texts]) => texts.length > 0);
    const title = `# ${this.#name}\n\n\`import { ... } from "${this.#name}"\`\n`;
    return [title, ...parts.map(([section, texts]) => `## ${section}\n\n${texts.join("\n")}`)].join("\n");
  }

  #entry(name, symbol) {
    const about = this.#comment(symbol);
    if (!(symbol.flags & ts.SymbolFlags.Value)) {
      const type = this.#checker.getDeclaredTypeOfSymbol(symbol);
      const members = type.isUnion() ? [] : this.#own(type);
      const text = members.length === 0 ? code(`type ${name} = ${this.#typeText(type, true)}`) : this.#options(members);
      return ["Options and types", heading(name, about, text)];
    }
    const type = this.#checker.getTypeOfSymbol(symbol);
    const [made] = type.getConstructSignatures();
    if (made !== undefined) {
      const instance =
        symbol.flags & ts.SymbolFlags.Class ? this.#checker.getDeclaredTypeOfSymbol(symbol) : made.getReturnType();
      const creation = code(`new ${name}${this.#signature(made).replace(/\): [^)]*$/, ")")}`);
      return ["Classes", heading(name, about, creation + this.#members(name, instance))];
    }
    const calls = type.getCallSignatures();
    if (calls.length > 0) {
      const lines = calls.map((call) => `${name}${this.#signature(call)}`);
      return ["Functions", heading(name, about, code(lines.join("\n")))];
    }
    return ["Values", heading(name, about, this.#members(name, type) || code(`${name}: ${this.#typeText(type)}`))];
  }

  /** Methods and properties, each with its comment and its other spelling. */
  #members(owner, type) {
    const members = this.#own(type);
    const names = new Set(members.map(({ name }) => name));
    return members
      .filter(({ name }) => !isSnakeOf(name, names))
      .map((member) => {
        const { name } = member;
        const given = this.#checker.getTypeOfSymbol(member);
        const calls = this.#checker.getNonNullableType(given).getCallSignatures();
        const lines =
          calls.length > 0 ? calls.map((call) => name + this.#signature(call)) : [`${name}: ${this.#typeText(given)}`];
        const other = snake(name) !== name && names.has(snake(name)) ? `Also \`${owner}.${snake(name)}\`.\n\n` : "";
        return `#### ${owner}.${name}\n\n${paragraph(this.#comment(member))}${other}${code(lines.join("\n"))}`;
      })
      .join("\n");
  }

  /** Options as a table. Every option can be given in both spellings. */
  #options(members) {
    const names = new Set(members.map(({ name }) => name));
    const rows = members
      .filter(({ name }) => !isSnakeOf(name, names))
      .map((member) => {
        const { name } = member;
        const spellings = snake(name) === name ? `\`${name}\`` : `\`${name}\`, \`${snake(name)}\``;
        const type = this.#typeText(this.#checker.getTypeOfSymbol(member)).replace(/ \| undefined$/, "");
        return `| ${spellings} | \`${cell(type)}\` | ${cell(oneLine(this.#comment(member)))} |`;
      });
    return `| name | type | |\n| --- | --- | --- |\n${rows.join("\n")}\n`;
  }

  /** Members that the package declares and users may see. */
  #own(type) {
    return this.#checker.getPropertiesOfType(type).filter((member) => {
      if (member.name.startsWith("__") || member.name === "prototype") return false;
      const [declaration] = member.declarations ?? [];
      if (declaration === undefined) return true;
      const flags = ts.getCombinedModifierFlags(declaration);
      if (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) return false;
      return !/[\\/]node_modules[\\/](?:typescript|@types)[\\/]/.test(declaration.getSourceFile().fileName);
    });
  }

  #comment(symbol) {
    const text = ts.displayPartsToString(symbol.getDocumentationComment(this.#checker)).trim();
    // The site reads double braces as code.
    return text.replaceAll("{{", "{ {");
  }

  #signature(signature) {
    return cut(this.#checker.signatureToString(signature, undefined, ts.TypeFormatFlags.NoTruncation));
  }

  #typeText(type, alias = false) {
    const flags = ts.TypeFormatFlags.NoTruncation | (alias ? ts.TypeFormatFlags.InTypeAlias : 0);
    return cut(this.#checker.typeToString(type, undefined, flags));
  }
}

function isSnakeOf(name, names) {
  return name.includes("_") && names.has(name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()));
}

function heading(name, about, text) {
  return `### ${name}\n\n${paragraph(about)}${text}`;
}

function paragraph(text) {
  return text === "" ? "" : `${text}\n\n`;
}

function code(text) {
  return `\`\`\`ts\n${text}\n\`\`\`\n\n`;
}

function cell(text) {
  return text.replaceAll("|", "\\|");
}

function oneLine(text) {
  return text.replace(/\s*\n\s*/g, " ");
}

function cut(text) {
  const line = text.replace(/import\("[^"]*"\)\./g, "").replace(/\s*\n\s*/g, " ");
  return line.length > longest ? `${line.slice(0, longest)} ...` : line;
}
