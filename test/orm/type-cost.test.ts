import { resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const folder = resolve(import.meta.dirname, "../..");
const file = resolve(folder, "test/orm/generated-models.ts");

/** An application of so many models in a ring, each with lookups through three relations. */
function application(models: number): string {
  const name = (index: number): string => `M${(index + models) % models}`;
  const parts = Array.from({ length: models }, (_, index) => {
    const [here, next] = [name(index), name(index + 1)];
    return `
export class ${here} extends Model("m${index}", {
  id: field.auto(), title: field.char({ maxLength: 50 }), year: field.int({ null: true }), at: field.datetime({ autoNowAdd: true }),
  get next() { return field.foreignKey(() => ${next}) },
  get backs() { return field.reverse(() => ${name(index - 1)}, "next") },
}) { declare static objects: Manager<${here}>; get label() { return this.title } }
export const q${index} = async () => {
  const rows = await ${here}.objects.filter({ year__gte: 1, next__next__title__icontains: "x", backs__year__in: [1] })
    .selectRelated("next__next").annotate({ n: count("backs") }).orderBy("-year", "next__title").limit(5);
  const row = await ${here}.objects.create({ title: "x", next: 1 });
  return rows.map((each) => each.next.next.label + each.n + row.label);
};`;
  });
  return `import { count, field, type Manager, Model } from "../../src/entry/orm.js";\n${parts.join("\n")}`;
}

/** What the compiler instantiates for it; fails when it does not type-check. */
function cost(models: number): number {
  const { config } = ts.readConfigFile(resolve(folder, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, folder);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  const text = application(models);
  host.fileExists = (path) => path === file || fileExists(path);
  host.getSourceFile = (path, ...rest) =>
    path === file ? ts.createSourceFile(path, text, ts.ScriptTarget.ES2022) : getSourceFile(path, ...rest);
  const program = ts.createProgram([file], { ...options, noEmit: true }, host);
  const messages = program
    .getSemanticDiagnostics(program.getSourceFile(file))
    .map((each) => ts.flattenDiagnosticMessageText(each.messageText, "\n"));
  expect(messages).toEqual([]);
  return (program as unknown as { getInstantiationCount(): number }).getInstantiationCount();
}

describe("the types of models", () => {
  it("The compiler's work for models grows in proportion to their number", () => {
    const [few, some, many] = [cost(2), cost(12), cost(22)] as [number, number, number];
    const each = (some - few) / 10;
    expect((many - some) / 10 / each).toBeLessThan(1.3);
    // A model with its lookups, annotations and joins.
    expect(each).toBeLessThan(20_000);
  });
});
