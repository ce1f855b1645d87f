import { defineSettings } from "stoa/settings";
import { z } from "zod";

/** The variables that this application reads. `.env.example` lists them too. */
const Schema = z.object({
  CORS_ORIGINS: z.array(z.string()).default([]),
  LOG_LEVEL: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
  NOTE_LIMIT: z.int().min(1).default(1000),
});

export type Settings = z.infer<typeof Schema>;

export function readSettings(): Settings {
  return defineSettings(Schema);
}
