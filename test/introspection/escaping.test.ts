import ts from "typescript";
import { expect, it } from "vitest";
import { writeModels } from "../../src/introspection/index.js";
import { escaped } from "../../src/introspection/names.js";
import { withoutParentheses } from "../../src/introspection/sql-text.js";
import type { SchemaState } from "../../src/orm/schema/state.js";
import fc, { runs } from "../support/properties.js";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.stringMatching(/^["'`\\${}*/\n\r;()<>-]{1,8}$/),
  fc.constantFrom("__proto__", "constructor", "\u2028x()", "*/x()/*", "$\u{7b}x()}", "//\nx()", "\\", '\\"', "`"),
);
const name = text.filter((each) => each !== "" && !each.includes("."));

const column = fc.record(
  {
    type: fc.oneof(
      fc.constantFrom("integer", "bigint", "text", "varchar(9)", "numeric(8, 2)", "jsonb", "boolean", "text[]", "real"),
      name.map((each) => `"${each.replaceAll('"', '""')}"`),
    ),
    nullable: fc.boolean(),
    default: fc.oneof(
      text,
      text.map((each) => `'${each.replaceAll("'", "''")}'::text`),
    ),
    generated: text,
    collation: text,
    comment: text,
  },
  { requiredKeys: ["type"] },
);

/** Tables whose every text is arbitrary. */
const state: fc.Arbitrary<SchemaState> = fc
  .record({
    tables: fc.dictionary(name, fc.dictionary(name, column, { minKeys: 1, maxKeys: 4 }), { minKeys: 1, maxKeys: 4 }),
    enums: fc.dictionary(name, fc.uniqueArray(text, { minLength: 1, maxLength: 3 }), { maxKeys: 2 }),
    words: fc.array(text, { minLength: 5, maxLength: 5 }),
  })
  .map(({ tables, enums, words: [a, b, c, d, e] }) => {
    const [[target, targetColumns]] = Object.entries(tables) as [[string, object]];
    const references = [Object.keys(targetColumns)[0]!];
    return {
      enums,
      tables: Object.fromEntries(
        Object.entries(tables).map(([table, columns]) => {
          const keys = Object.keys(columns);
          return [
            table,
            {
              columns,
              primaryKey: keys.slice(0, 2),
              unique: { [a!]: { columns: keys } },
              checks: { [b!]: c! },
              indexes: { [d!]: { on: [{ expression: e! }, keys[0]!], where: a!, method: "gin" as const } },
              foreignKeys: { [e!]: { columns: keys.slice(-1), table: target, references } },
              comment: b!,
            },
          ];
        }),
      ),
    };
  });

/** Everything that the writer may call or mention. */
const allowed = new Set(["field", "Model", "Json", "JSON", "Number", "Date", "text", "string", "number", "const"]);

function strangers(source: string): string[] {
  const file = ts.createSourceFile("models.ts", source, ts.ScriptTarget.ES2022, true);
  const { parseDiagnostics } = file as unknown as { parseDiagnostics: ts.Diagnostic[] };
  const found = parseDiagnostics.map((each) => ts.flattenDiagnosticMessageText(each.messageText, "\n"));
  const declared = new Set(allowed);
  for (const statement of file.statements) {
    if (ts.isClassDeclaration(statement)) declared.add(statement.name!.text);
    else if (ts.isVariableStatement(statement)) declared.add(statement.declarationList.declarations[0]!.name.getText());
    else if (!ts.isImportDeclaration(statement)) found.push(statement.getText());
  }
  const visit = (node: ts.Node): void => {
    const isName = ts.isIdentifier(node) && !declared.has(node.text);
    const { parent } = node;
    const isMember =
      parent && (ts.isPropertyAssignment(parent) || ts.isPropertyAccessExpression(parent) || ts.isGetAccessor(parent));
    if (isName && !(isMember && parent.name === node)) found.push(node.text);
    if (ts.isTemplateExpression(node) || ts.isNoSubstitutionTemplateLiteral(node)) found.push(node.getText());
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

it("Written models contain nothing of a database except strings and comments", () => {
  expect(strangers('export class A extends Model("a", { b: field.int({ default: boom() }) }) {}')).toEqual(["boom"]);
  fc.assert(
    fc.property(state, fc.constantFrom("ts", "js"), (given, language) => {
      expect(strangers(writeModels(given, { language }))).toEqual([]);
    }),
    { numRuns: runs(300) },
  );
});

it("Texts are written as equal string literals, on one line, without invisible characters", () => {
  fc.assert(
    fc.property(text, (given) => {
      const code = escaped(given);
      expect(code).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(new Function(`return ${code}`)()).toBe(given);
    }),
    { numRuns: runs(2000) },
  );
});

it("Only parentheses around a whole expression are removed", () => {
  expect(withoutParentheses("((a > 0))")).toBe("a > 0");
  expect(withoutParentheses("(a > 0) AND (b > 0)")).toBe("(a > 0) AND (b > 0)");
  expect(withoutParentheses("((a > 0) AND (b > 0))")).toBe("(a > 0) AND (b > 0)");
  expect(withoutParentheses("(a <> ')' OR \"(\" = 1)")).toBe("a <> ')' OR \"(\" = 1");
  expect(withoutParentheses("(a = 'it''s (') AND (b = ')')")).toBe("(a = 'it''s (') AND (b = ')')");
  expect(withoutParentheses("(a = '\\') OR (b)")).toBe("(a = '\\') OR (b)");
  expect(withoutParentheses("lower(a)")).toBe("lower(a)");
});
