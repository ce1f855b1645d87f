import type { Check } from "../kit/options.js";

/** Checks the name of a schema. It is written into statements, so only plain names are allowed. */
export const isSchemaName: Check<string> = (value) =>
  typeof value === "string" && /^[a-z_][a-z0-9_]{0,39}$/.test(value)
    ? undefined
    : "a name of small letters, digits and underscores, up to 40 characters";
