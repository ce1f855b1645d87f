import { defineConfig } from "stoa/migrations";

/** For `npx stoa dev`, `routes`, `openapi`, `client` and `doctor`. */
export default defineConfig({ app: "./src/app.ts" });
