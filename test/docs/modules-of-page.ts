/**
 * The code of a page as modules. Each `ts` block is a module of its own. Comments, which a reader does not see, say the
 * rest:
 *
 * - `<!-- setup ... -->`: code above each of the following blocks, up to the next setup; an empty one ends it
 * - `<!-- continues ... -->`: the next block stands in the module of the block before, with this code between them
 * - `<!-- file users.ts ... -->`: a module that blocks import
 * - `<!-- not run: why -->`: the next block is compiled and not run
 * - `<!-- not compiled: why -->`: the next block is neither compiled nor run
 *
 * A block whose first line is a comment with a file name is that file. What a block imports is not imported above it again.
 * Where the hidden code has made `app`, a block that shows this line does not run it again.
 */
export interface PageModule {
  /** Path in the folder of the page. */
  name: string;
  code: string;
  /** Line of the page for each line of the code. */
  lines: number[];
  /** False if a block is marked as not run. */
  runs: boolean;
  /** Names that the last block uses, and that only hidden code imports; `app` is such a name. */
  notShown: string[];
}

const parts = /^ *```(\w*)\n(.*?)^ *```$|^ *<!-- (setup|continues|file|not run|not compiled)\b(.*?)-->$/gms;
const nameOfFile = /^ *\/\/ ([\w./-]+\.ts)\n/;
const importLine = /^( *import (?:type )?)\{ (.*) \}( from ".*";)$/;
const appLine = /^ *(?:export )?const app = new App\(.*\);$/;

export function modulesOfPage(markdown: string): PageModule[] {
  const modules: PageModule[] = [];
  let setup = new Code();
  let code = new Code();
  let continues: { hidden: string[]; line: number } | undefined;
  let runs = true;
  let isLeftOut = false;
  const shown = new Set<string>();
  for (const { index, 0: whole, 1: language, 2: block, 3: marker, 4: rest } of markdown.matchAll(parts)) {
    const line = markdown.slice(0, index).split("\n").length;
    const [first, ...hidden] = (rest ?? "").split("\n");
    if (marker === "setup") setup = new Code().add(hidden, line + 1);
    else if (marker === "continues") continues = { hidden, line: line + 1 };
    else if (marker?.startsWith("not ")) {
      if (!/^: \S/.test(first!)) throw new Error(`line ${line}: '${whole}' gives no reason`);
      runs = false;
      isLeftOut = marker === "not compiled";
    } else if (marker === "file") modules.push(module(first!.trim(), new Code().add(hidden, line + 1), false, []));
    else if (language === "ts" && isLeftOut) [isLeftOut, runs] = [false, true];
    else if (language === "ts") {
      const previous = continues && modules.pop()!;
      if (previous) runs &&= previous.runs;
      const texts = block!.trimEnd().split("\n");
      for (const name of givenBy(texts)) shown.add(name);
      const before = continues ? code.copy().add(continues.hidden, continues.line) : setup.copy();
      const notShown = givenBy(before.texts).filter((name) => !shown.has(name) && uses(block!, name));
      code = before
        .withoutImports(importedBy(texts))
        .add(before.texts.some(isApp) ? texts.map((text) => (isApp(text) ? "" : text)) : texts, line + 1);
      const name = continues ? undefined : nameOfFile.exec(block!)?.[1];
      modules.push(module(name ?? `line-${line}.ts`, code, runs, [...(previous?.notShown ?? []), ...notShown]));
      [continues, runs] = [undefined, true];
    }
  }
  return modules;
}

function module(name: string, { texts, lines }: Code, runs: boolean, notShown: string[]): PageModule {
  return { name, code: [...texts, "export {};"].join("\n"), lines: [...lines, lines.at(-1) ?? 0], runs, notShown };
}

/** The imported names, and the application. */
function givenBy(texts: string[]): string[] {
  return [...importedBy(texts), ...(texts.some(isApp) ? ["app"] : [])];
}

function isApp(text: string): boolean {
  return appLine.test(text);
}

/** The names that lines of code import. */
function importedBy(texts: string[]): string[] {
  return texts.flatMap((text) => importLine.exec(text)?.[2]?.split(", ").map(localName) ?? []);
}

function localName(specifier: string): string {
  return specifier.replace(/^type |.* as /g, "");
}

function uses(code: string, name: string): boolean {
  return new RegExp(`(?<![.\\w$"'/-])${name}\\b(?!\\??:|["'])`).test(code.replace(/\/\/ .*$/gm, ""));
}

class Code {
  texts: string[] = [];
  lines: number[] = [];

  add(texts: string[], line: number): this {
    this.lines.push(...texts.map((_, index) => line + index));
    this.texts.push(...texts);
    return this;
  }

  /** Lines stay where they are: errors name them. */
  withoutImports(names: string[]): this {
    this.texts = this.texts.map((text) => {
      const [, head, list, tail] = importLine.exec(text) ?? [];
      if (list === undefined) return text;
      const rest = list.split(", ").filter((specifier) => !names.includes(localName(specifier)));
      return rest.length === 0 ? "" : `${head}{ ${rest.join(", ")} }${tail}`;
    });
    return this;
  }

  copy(): Code {
    const copy = new Code();
    [copy.texts, copy.lines] = [[...this.texts], [...this.lines]];
    return copy;
  }
}
