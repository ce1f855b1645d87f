import type { CommandTable } from "./command.js";

/** The commands of `stoa`: one file each. */
export const commands: CommandTable = {
  migrate: {
    summary: "bring the database to the models: make, apply, undo and look at migrations",
    load: async () => (await import("./commands/migrate.js")).migrate,
  },
  db: {
    summary: "fill a database, change it to the models of a prototype, or open a shell on it",
    load: async () => (await import("./commands/db.js")).db,
  },
  messages: {
    summary: "look at dead letters and stuck messages of the outbox, send them again or discard them",
    load: async () => (await import("./commands/messages.js")).messages,
  },
};
