import { resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { isLong } from "../../support/long.js";

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
  return `import { count, field, type Manager, Model } from "stoa/orm";\n${parts.join("\n")}`;
}

/** What the compiler instantiates for it; fails when it does not type-check. Files of the package are read once. */
function cost(folder: string, models: number, read: Map<string, ts.SourceFile | undefined>): number {
  const file = resolve(folder, "generated-models.ts");
  const { config } = ts.readConfigFile(resolve(folder, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, folder);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  read.set(file, ts.createSourceFile(file, application(models), ts.ScriptTarget.ES2022));
  host.fileExists = (path) => path === file || fileExists(path);
  host.getSourceFile = (path, ...rest) => {
    if (!read.has(path)) read.set(path, getSourceFile(path, ...rest));
    return read.get(path);
  };
  const program = ts.createProgram([file], { ...options, noEmit: true }, host);
  const messages = program
    .getSemanticDiagnostics(program.getSourceFile(file))
    .map((each) => ts.flattenDiagnosticMessageText(each.messageText, "\n"));
  expect(messages).toEqual([]);
  return (program as unknown as { getInstantiationCount(): number }).getInstantiationCount();
}

/** The compiler's work for models of a project that has the package installed. */
export function costTests(folder: () => string): void {
  describe("the types of models", () => {
    it.runIf(isLong)("The compiler's work for models grows in proportion to their number", () => {
      const read = new Map<string, ts.SourceFile | undefined>();
      const [few, some, many] = [2, 12, 22].map((models) => cost(folder(), models, read)) as [number, number, number];
      const each = (some - few) / 10;
      expect((many - some) / 10 / each).toBeLessThan(1.3);
      // A model with its lookups, annotations and joins.
      expect(each).toBeLessThan(20_000);
    });
  });
}
