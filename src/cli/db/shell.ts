import { spawn } from "node:child_process";
import { once } from "node:events";
import type { DatabaseConfig } from "../../engines/db/config.js";
import { bindDatabase } from "../../engines/db/default-database.js";
import { sql } from "../../engines/db/sql/sql.js";
import { defineCommand } from "../command.js";
import { configOption, databaseOption, modelsOption, type Project, readProject } from "../project.js";
import { openRepl } from "../repl.js";

export const shell = defineCommand({
  summary: "Opens psql on the database; without psql, or with --models, JavaScript with `db`, `sql` and the models.",
  options: {
    repl: { kind: "switch", help: "JavaScript also if psql is installed" },
    ...databaseOption,
    ...modelsOption,
    ...configOption,
  },
  details: `
The password is given to psql in its environment, not among its arguments. An embedded database always opens JavaScript:
\`await Book.objects.count()\`, \`await db.fetch("select ...")\`.`,
  async run(call) {
    const project = await readProject(call);
    const config = project.databaseConfig();
    if (!call.options.repl && call.options.models === undefined && config.engine === "postgres") {
      const code = await psql(config, call.env);
      if (code !== null) return code;
      call.terminal.note("psql is not installed: this is JavaScript, with `db`, `sql` and the models");
    }
    return repl(project);
  },
});

/** Runs psql; resolves to its exit code, or to null if it is not installed. */
async function psql(config: DatabaseConfig, env: Readonly<Record<string, string | undefined>>): Promise<number | null> {
  const [host] = config.hosts;
  const password = typeof config.password === "function" ? await config.password() : config.password;
  const child = spawn("psql", [], {
    stdio: "inherit",
    env: {
      ...env,
      ...(host === undefined ? {} : { PGHOST: host.host, PGPORT: String(host.port) }),
      ...(config.user === undefined ? {} : { PGUSER: config.user }),
      ...(config.database === undefined ? {} : { PGDATABASE: config.database }),
      PGSSLMODE: config.sslmode,
      ...(password ? { PGPASSWORD: password } : {}),
    },
  });
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? 1;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function repl(project: Project): Promise<number> {
  const models = project.modules.length === 0 ? [] : await project.models();
  return project.withDatabase(async (database) => {
    bindDatabase(database);
    try {
      return await openRepl({
        db: database,
        sql,
        ...Object.fromEntries(models.map((meta) => [meta.name, meta.model])),
      });
    } finally {
      bindDatabase(null);
    }
  });
}
