import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const source = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));

/** What the compiler has to say about modules that were written, with the settings of this repository. */
export async function typeErrors(modules: ReadonlyMap<string, string>): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-types-"));
  try {
    const files = [...modules.keys()].map((name) => join(folder, `${name}.ts`));
    for (const [name, text] of modules) await writeFile(join(folder, `${name}.ts`), text);
    const program = ts.createProgram(files, {
      target: ts.ScriptTarget.ES2022,
      lib: ["lib.es2024.d.ts", "lib.esnext.disposable.d.ts", "lib.esnext.decorators.d.ts"],
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      types: ["node"],
      typeRoots: [fileURLToPath(new URL("../../node_modules/@types", import.meta.url))],
      strict: true,
      noUncheckedIndexedAccess: true,
      noImplicitOverride: true,
      verbatimModuleSyntax: true,
      skipLibCheck: true,
      noEmit: true,
      paths: { "stoa/orm": [source("entry/orm.ts")] },
    });
    return files.flatMap((name) => {
      const file = program.getSourceFile(name)!;
      return ts.getPreEmitDiagnostics(program, file).map((each) => {
        const { line } = file.getLineAndCharacterOfPosition(each.start ?? 0);
        return `${ts.flattenDiagnosticMessageText(each.messageText, "\n")} in: ${file.text.split("\n")[line]}`;
      });
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}
