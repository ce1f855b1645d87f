import { defineConfig } from "stoa/migrations";
import { readDatabaseUrl } from "./src/settings.js";

/** For `npx stoa dev`, `migrate`, `db`, `messages`, `routes`, `openapi`, `client` and `doctor`. */
export default defineConfig({
  app: "./src/app.ts",
  models: "./src/models.ts",
  seed: "./src/seed.ts",
  database: readDatabaseUrl(),
});
