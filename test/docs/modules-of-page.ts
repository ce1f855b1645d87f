/**
 * The code of a page as modules. Each `ts` block is a module of its own. Comments, which a reader does not see, say the
 * rest:
 *
 * - `<!-- setup ... -->`: code above each of the following blocks, up to the next setup; an empty one ends it
 * - `<!-- continues ... -->`: the next block stands in the module of the block before, with this code between them
 * - `<!-- file users.ts ... -->`: a module that blocks import
 * - `<!-- not run: why -->`: the next block is compiled and not run
 *
 * A block whose first line is a comment with a file name is that file.
 */
export interface PageModule {
  /** Path in the folder of the page. */
  name: string;
  code: string;
  /** Line of the page for each line of the code. */
  lines: number[];
  /** False if a block is marked as not run. */
  runs: boolean;
}

const parts = /^ *```(\w*)\n(.*?)^ *```$|^ *<!-- (setup|continues|file|not run)\b(.*?)-->$/gms;
const nameOfFile = /^ *\/\/ ([\w./-]+\.ts)\n/;

export function modulesOfPage(markdown: string): PageModule[] {
  const modules: PageModule[] = [];
  let setup = new Code();
  let code = new Code();
  let continues: { hidden: string[]; line: number } | undefined;
  let runs = true;
  for (const { index, 0: whole, 1: language, 2: block, 3: marker, 4: rest } of markdown.matchAll(parts)) {
    const line = markdown.slice(0, index).split("\n").length;
    const [first, ...hidden] = (rest ?? "").split("\n");
    if (marker === "setup") setup = new Code().add(hidden, line + 1);
    else if (marker === "continues") continues = { hidden, line: line + 1 };
    else if (marker === "not run") {
      if (!/^: \S/.test(first!)) throw new Error(`line ${line}: '${whole}' gives no reason`);
      runs = false;
    } else if (marker === "file") modules.push(module(first!.trim(), new Code().add(hidden, line + 1), false));
    else if (language === "ts") {
      if (continues) runs &&= modules.pop()!.runs;
      const before = continues ? code.copy().add(continues.hidden, continues.line) : setup.copy();
      code = before.add(block!.trimEnd().split("\n"), line + 1);
      const name = continues ? undefined : nameOfFile.exec(block!)?.[1];
      modules.push(module(name ?? `line-${line}.ts`, code, runs));
      [continues, runs] = [undefined, true];
    }
  }
  return modules;
}

function module(name: string, { texts, lines }: Code, runs: boolean): PageModule {
  return { name, code: [...texts, "export {};"].join("\n"), lines: [...lines, lines.at(-1) ?? 0], runs };
}

class Code {
  texts: string[] = [];
  lines: number[] = [];

  add(texts: string[], line: number): this {
    this.lines.push(...texts.map((_, index) => line + index));
    this.texts.push(...texts);
    return this;
  }

  copy(): Code {
    const copy = new Code();
    [copy.texts, copy.lines] = [[...this.texts], [...this.lines]];
    return copy;
  }
}
