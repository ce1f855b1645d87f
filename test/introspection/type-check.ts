import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileFiles } from "../support/compiler.js";

const root = join(import.meta.dirname, "../..");

/** What the compiler prints about modules that were written, with the settings of this repository. */
export async function typeErrors(modules: ReadonlyMap<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-types-"));
  try {
    for (const [name, text] of modules) await writeFile(join(folder, `${name}.ts`), text);
    return await compileFiles(
      folder,
      [...modules.keys()].map((name) => `${name}.ts`),
      {
        target: "ES2022",
        lib: ["ES2024", "ESNext.Disposable", "ESNext.Decorators"],
        module: "ESNext",
        moduleResolution: "Bundler",
        types: ["node"],
        typeRoots: [join(root, "node_modules/@types")],
        strict: true,
        noUncheckedIndexedAccess: true,
        noImplicitOverride: true,
        verbatimModuleSyntax: true,
        skipLibCheck: true,
        paths: { "stoa/orm": [join(root, "src/entry/orm.ts")] },
      },
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}
