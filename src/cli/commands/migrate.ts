import type { CommandGroup } from "../command.js";

export const migrate: CommandGroup = {
  summary: "Brings the database to the models, step by step, and back.",
  commands: {
    make: {
      summary: "write a migration for what changed in the models",
      load: async () => (await import("../migrate/make.js")).make,
    },
    up: { summary: "apply migrations", load: async () => (await import("../migrate/up.js")).up },
    down: { summary: "undo migrations", load: async () => (await import("../migrate/down.js")).down },
    status: {
      summary: "show which migrations are applied",
      load: async () => (await import("../migrate/status.js")).status,
    },
    sql: { summary: "print the SQL of migrations", load: async () => (await import("../migrate/sql.js")).sql },
    lint: {
      summary: "find what would lock a table or break the running version",
      load: async () => (await import("../migrate/lint.js")).lintCommand,
    },
    squash: {
      summary: "write one migration that stands for several",
      load: async () => (await import("../migrate/squash.js")).squash,
    },
    diff: {
      summary: "show where the database differs from its migrations",
      load: async () => (await import("../migrate/diff.js")).diff,
    },
    inspect: {
      summary: "print models of an existing database",
      load: async () => (await import("../migrate/inspect.js")).inspect,
    },
  },
};
