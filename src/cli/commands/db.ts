import type { CommandGroup } from "../command.js";

export const db: CommandGroup = {
  summary: "Works on a database directly: rows to begin with, a prototype's tables, a shell.",
  commands: {
    seed: {
      summary: "fill the database by a function of the project",
      load: async () => (await import("../db/seed.js")).seed,
    },
    push: {
      summary: "change the database to the models without a migration",
      load: async () => (await import("../db/push.js")).push,
    },
    shell: {
      summary: "open psql, or JavaScript with the models",
      load: async () => (await import("../db/shell.js")).shell,
    },
  },
};
