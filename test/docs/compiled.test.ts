import { join, resolve } from "node:path";
import ts from "typescript";
import { beforeAll, expect, it } from "vitest";
import { type Page, readPages, root } from "./pages.js";

const pages = await readPages();
const withCode = pages.filter(({ modules }) => modules.length > 0);
let errors: Map<string, string[]>;

beforeAll(() => {
  errors = compile(withCode);
}, 300_000);

it.each(withCode.map(({ path }) => path))("The code of %s compiles under strict", (path) => {
  expect(errors.get(path)).toEqual([]);
});

it("Code on the pages is marked as ts, so that it is compiled here", () => {
  const others = pages.flatMap(({ path, text }) => {
    const fences = text.matchAll(/^ *```(typescript|tsx|mts)\b/gm);
    return [...fences].map(([fence]) => `${path}: ${fence}`);
  });
  expect(others).toEqual([]);
});

/** The errors of each page, with the settings of docs/getting-started.md, against the sources. */
function compile(pages: Page[]): Map<string, string[]> {
  const files = new Map(
    pages.flatMap((page) => page.modules.map((module) => [join(root, folderOf(page), module.name), { page, module }])),
  );
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile) as {
    config: { compilerOptions: { paths: object } };
  };
  const { paths } = config.compilerOptions;
  const compilerOptions = {
    target: "ES2022",
    module: "NodeNext",
    strict: true,
    types: ["node"],
    skipLibCheck: true,
    noEmit: true,
    paths,
  };
  const { options } = ts.parseJsonConfigFileContent({ compilerOptions, files: [] }, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, getSourceFile, directoryExists } = host;
  host.readFile = (path) => files.get(resolve(path))?.module.code ?? readFile(path);
  host.fileExists = (path) => files.has(resolve(path)) || fileExists(path);
  host.directoryExists = (path) =>
    [...files.keys()].some((file) => file.startsWith(`${resolve(path)}/`)) || directoryExists!(path);
  host.getSourceFile = (path, language, ...rest) => {
    const own = files.get(resolve(path));
    if (own === undefined) return getSourceFile(path, language, ...rest);
    return ts.createSourceFile(path, own.module.code, language, true);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  const found = new Map(pages.map(({ path }) => [path, [] as string[]]));
  for (const [path, { page, module }] of files) {
    const source = program.getSourceFile(path)!;
    for (const each of [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]) {
      const { line } = source.getLineAndCharacterOfPosition(each.start!);
      const message = ts.flattenDiagnosticMessageText(each.messageText, "\n");
      found.get(page.path)!.push(`${page.path}:${module.lines[line]}: ${message}`);
    }
  }
  return found;
}

function folderOf({ path }: Page): string {
  return path.replace(/\.md$/, ".code");
}
