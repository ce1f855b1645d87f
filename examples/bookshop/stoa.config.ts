import { defineConfig } from "stoa/migrations";

/** For `stoa migrate`: the same database that `main.ts` uses. */
export default defineConfig({
  models: "./models.ts",
  migrations: "./migrations",
  database: process.env["DATABASE_URL"] ?? "pglite:./data",
});
