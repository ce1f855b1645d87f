import { defineSettings } from "stoa/settings";
import { z } from "zod";

const Database = z.object({ DATABASE_URL: z.string() });

/** The variables that this application reads. `.env.development` has values for development, production has to set them. */
const Schema = Database.extend({
  JWT_SECRET: z.string().min(32),
  LOG_LEVEL: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
  LOGINS_PER_MINUTE: z.int().min(1).default(10),
  TOKEN_SECONDS: z.int().min(60).default(3600),
});

export type Settings = z.infer<typeof Schema>;

export function readSettings(): Settings {
  return defineSettings(Schema);
}

/** For migrations, which need no other variable. */
export function readDatabaseUrl(): string {
  return defineSettings(Database).DATABASE_URL;
}
