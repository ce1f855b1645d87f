import { cp, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readPages } from "../docs/pages.js";
import { compile } from "../support/compiler.js";
import { installPackage, root } from "../support/installed-package.js";
import { isLong } from "../support/long.js";

/**
 * What users would write: everything that is compiled against the package, by its place in this project. The type tests, which
 * are compiled against the sources too, take longest.
 */
const copied = [
  "examples",
  ...(isLong ? ["test/types"] : []),
  "test/package/apps",
  "test/orm/bookshop.ts",
  "test/apis/grpc/fixtures/echo_pb.ts",
  "test/cli/client/fixtures",
];

/** The settings of docs/getting-started.md. */
const compilerOptions = {
  target: "ES2022",
  module: "NodeNext",
  strict: true,
  types: ["node"],
  skipLibCheck: true,
  rootDir: ".",
  outDir: "built",
};

/** Writes a project that has the package installed: the examples, the type tests, the applications and the code of the pages. */
export async function writeConsumer(folder: string): Promise<void> {
  await installPackage(folder);
  for (const path of copied) await cp(join(root, path), join(folder, path), { recursive: true });
  for (const { path, modules } of await readPages()) {
    for (const { name, code } of modules) {
      const file = join(folder, folderOfPage(path), name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, code);
    }
  }
  const include = ["examples", "test", "pages"];
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include }));
}

export function folderOfPage(path: string): string {
  return join("pages", path.replace(/\.md$/, ""));
}

/** Compiles the project with a compiler and returns its errors, each with its file and line. */
export async function compileConsumer(folder: string, compiler?: string): Promise<string[]> {
  const output = await compile(folder, "tsconfig.json", compiler);
  return output.split(/\n(?! )/).filter((line) => line !== "");
}
