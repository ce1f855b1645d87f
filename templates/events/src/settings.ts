import { defineSettings } from "stoa/settings";
import { z } from "zod";

const Database = z.object({ DATABASE_URL: z.string() });

/** The variables that this application reads. `.env.development` has values for development, production has to set them. */
const Schema = Database.extend({
  BROKER_URL: z.string().regex(/^(memory:$|amqps?:)/, "must be amqp://... or memory:"),
  LOG_LEVEL: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
});

export type Settings = z.infer<typeof Schema>;

export function readSettings(): Settings {
  return defineSettings(Schema);
}

/** For migrations, which need no other variable. */
export function readDatabaseUrl(): string {
  return defineSettings(Database).DATABASE_URL;
}
