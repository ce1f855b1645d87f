/** Prints the compiler's work for applications of models: `node bench/model-types.mjs 10 100`. */

import { resolve } from "node:path";
import ts from "typescript";
import { modelApplication } from "./lib/model-types.mjs";

const root = resolve(import.meta.dirname ?? ".", "..");
const file = resolve(root, "bench/generated-models.ts");

for (const models of process.argv.slice(2).map(Number)) {
  const { instantiations, errors } = measure(models);
  console.log(`${models} models, ${models * 4} statements: ${instantiations} instantiations, ${errors} errors`);
}

function measure(models) {
  const { config } = ts.readConfigFile(resolve(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  const text = modelApplication(models, "../src/entry/orm.js");
  host.fileExists = (path) => path === file || fileExists(path);
  host.getSourceFile = (path, ...rest) =>
    path === file ? ts.createSourceFile(path, text, ts.ScriptTarget.ES2022) : getSourceFile(path, ...rest);
  const program = ts.createProgram([file], { ...options, noEmit: true }, host);
  const errors = program.getSemanticDiagnostics(program.getSourceFile(file)).length;
  return { instantiations: program.getInstantiationCount(), errors };
}
