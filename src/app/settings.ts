import type { RunSettings } from "../server/run-target.js";

/** The settings of an application before `run`: under `fetch`, in tests, behind another server. */
export function defaultSettings(): RunSettings {
  const env = (process.env["STOA_ENV"] ?? process.env["NODE_ENV"]) === "production" ? "production" : "development";
  return { env, debug: env === "development", logs: undefined, requestTimeout: 30, workers: 1 };
}
