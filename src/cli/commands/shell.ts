import type { App } from "../../app/app.js";
import { sql } from "../../engines/db/sql/sql.js";
import { appOption, loadApp, noting } from "../application.js";
import { defineCommand } from "../command.js";
import { modelsOption, readProject } from "../project.js";
import { openRepl } from "../repl.js";

export const shell = defineCommand({
  summary: "Opens JavaScript with the started application: `app`, `db`, `sql` and the models.",
  options: { ...appOption, ...modelsOption },
  details: `
The application is started as by \`run\`, its workers too, but it does not listen. Ctrl+D stops it. \`stoa db shell\` opens the database
without the application.

Examples:
  stoa shell
  > await Book.objects.count()
  > await (await app.fetch(new Request("http://localhost/books"))).json()
  echo 'await app.jobs.counts()' | stoa shell`,
  async run(call) {
    const project = await readProject(call);
    const models = project.modules.length === 0 ? [] : await project.models();
    const app = await loadApp(call);
    app.logger = noting(call.terminal.note);
    await app.start();
    try {
      const names = Object.fromEntries(models.map((meta) => [meta.name, meta.model]));
      return await openRepl({ app, sql, ...databaseOf(app), ...names });
    } finally {
      await app.stop();
    }
  },
});

/** The database, if the application has one. */
function databaseOf(app: App): { readonly db?: unknown } {
  try {
    return { db: app.database };
  } catch {
    return {};
  }
}
