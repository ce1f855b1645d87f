import { defineConfig } from "stoa/migrations";

/** For `stoa messages`: the application, which this module makes and does not start. */
export default defineConfig({ app: "./app.ts" });
