import { buildGraph } from "../../migrations/graph.js";
import { type LintFinding, lint } from "../../migrations/lint.js";
import { stateAfter } from "../../migrations/plan.js";
import { defineCommand } from "../command.js";
import { configOption, migrationsOption, readProject } from "../project.js";
import { existingMigrations } from "./migration-files.js";

export const lintCommand = defineCommand({
  summary: "Finds operations that lock a table for long or break the running version; exits with 1 when there are any.",
  options: {
    after: { kind: "text", value: "NAME", help: "begin after this one: those before it are in use already" },
    json: { kind: "switch", help: "print a JSON list" },
    ...migrationsOption,
    ...configOption,
  },
  details: `
It reads the migrations, not a database. Tables that a migration creates itself are left out. A migration that is safe all the
same says why: migration({ assured: "the table has ten rows", ... }).`,
  async run(call) {
    const { options, terminal } = call;
    const { migrations } = await readProject(call);
    const { order, find, before } = buildGraph(await existingMigrations(migrations));
    const last = options.after === undefined ? null : find(options.after).name;
    const checked = order.filter(({ name }) => last === null || (name !== last && !before(last).has(name)));
    const findings = checked.flatMap((each) => lint(each, stateAfter(order.slice(0, order.indexOf(each)))));
    if (options.json) terminal.print(JSON.stringify(findings, null, 2));
    else for (const line of riskLines(findings)) terminal.print(line);
    if (findings.length === 0 && !options.json) {
      terminal.print(`no risks in ${checked.length} ${checked.length === 1 ? "migration" : "migrations"}`);
    }
    return findings.length === 0 ? 0 : 1;
  },
});

/** The findings as lines, one operation after the other. */
export function riskLines(findings: readonly LintFinding[]): string[] {
  return findings.flatMap(({ migration, operation, rule, risk, cure }) => [
    `risk (${rule}): ${migration}: ${operation}`,
    `  ${risk}`,
    `  cure: ${cure}`,
  ]);
}
