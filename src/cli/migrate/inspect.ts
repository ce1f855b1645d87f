import { ValueError } from "../../kit/value-error.js";
import { defineCommand } from "../command.js";
import { configOption, databaseOption, readProject } from "../project.js";

export const inspect = defineCommand({
  summary: "Prints models for the tables of an existing database.",
  options: {
    schema: { kind: "list", value: "NAME", help: "a schema to read (those of the search path)" },
    table: { kind: "list", value: "NAME", help: "only this table" },
    exclude: { kind: "list", value: "NAME", help: "all but this table" },
    language: { kind: "text", value: "NAME", help: "ts or js (ts)" },
    ...databaseOption,
    ...configOption,
  },
  details: `
To put a database under migrations that has tables already: keep what this prints as your models, write the first
migration with \`stoa migrate make\`, and record it on that database with \`stoa migrate up --fake\`.`,
  async run(call) {
    const { options, terminal } = call;
    const language = readLanguage(options.language ?? "ts");
    const project = await readProject(call);
    const { introspect, writeModels } = await import("../../introspection/index.js");
    const state = await project.withDatabase((database) =>
      introspect(database, {
        schemas: options.schema,
        tables: options.table,
        exclude: [...(options.exclude ?? []), project.table],
      }),
    );
    if (Object.keys({ ...state.tables, ...state.unmanaged }).length === 0) {
      throw new ValueError("there are no tables in this database");
    }
    terminal.print(writeModels(state, { language }).trimEnd());
  },
});

function readLanguage(text: string): "ts" | "js" {
  if (text !== "ts" && text !== "js") throw new ValueError(`--language must be ts or js, not ${JSON.stringify(text)}`);
  return text;
}
