/** Checks the name of a schema. It is written into statements, so only plain names are allowed. */
export function isSchemaName(value: unknown): string | undefined {
  return typeof value === "string" && /^[a-z_][a-z0-9_]{0,39}$/.test(value)
    ? undefined
    : "a name of small letters, digits and underscores, up to 40 characters";
}
