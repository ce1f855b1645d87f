import { readFileSync } from "node:fs";
import { join } from "node:path";
import util, { inspect } from "node:util";
import { checkedOptions } from "../kit/config.js";
import { is, show } from "../kit/options.js";
import { didYouMean } from "../kit/suggest.js";
import { ValueError } from "../kit/value-error.js";
import { coercion } from "./coerce.js";
import { toIssues } from "./issues.js";
import { jsonSchemaOf } from "./json-schema.js";
import { objectShape } from "./schema-walk.js";
import { isStandardSchema, type SchemaOutput, type StandardSchema } from "./standard-schema.js";

export interface SettingsOptions {
  /** The folder of the `.env` files. Default the working directory. */
  readonly folder?: string;
  /** The variables that win over the files. Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A setting of the application and the place of its value; the value itself is not told. */
export interface SettingSource {
  readonly name: string;
  /** `"the environment"`, the name of a file, or `"its default"`. */
  readonly from: string;
}

const defined: SettingSource[] = [];

/** Where the settings of this process have come from, for `stoa doctor`. */
export function settingSources(): readonly SettingSource[] {
  return defined;
}

/** The issues of all settings, while they are collected. */
let collected: Set<string> | null = null;

/** Runs a function in which settings that are missing or wrong throw no error: they are added to a set, one line each. */
export async function collectIssues<T>(issues: Set<string>, run: () => Promise<T>): Promise<T> {
  collected = issues;
  try {
    return await run();
  } finally {
    collected = null;
  }
}

/**
 * Typed settings from the environment and `.env` files, checked by a schema with a property for each variable:
 *
 *     export const settings = defineSettings(z.object({ DATABASE_URL: z.url(), MAIL_LIMIT: z.int().default(100) }));
 *
 * Text is converted to the numbers, booleans and lists (with commas) of the schema. Everything missing or wrong is in one
 * error, which shows no values; nor does the result when it is printed.
 */
export function defineSettings<S extends StandardSchema>(
  schema: S,
  options: SettingsOptions = {},
): Readonly<SchemaOutput<S>> {
  if (!isStandardSchema(schema)) {
    throw new ValueError(`defineSettings() takes a schema (zod, valibot, arktype ...), not ${show(schema)}`);
  }
  const { folder = process.cwd(), env = process.env } = readOptions("defineSettings()", options);
  const sources = sourcesOf(folder, env);
  const root = jsonSchemaOf(schema, "input");
  const names = root === undefined ? undefined : [...objectShape(root, root).properties.keys()];
  const input: Record<string, unknown> = Object.create(null);
  // An empty variable counts as not set: shells and compose files have no other way to say so.
  for (const [, values] of sources) {
    for (const name of names ?? Object.keys(values)) if (values[name] && !(name in input)) input[name] = values[name];
  }
  coercion(schema, "commas")?.(input);
  const result = schema["~standard"].validate({ ...input });
  if (result instanceof Promise)
    throw new ValueError("defineSettings() takes a schema that does not wait for anything");
  if (result.issues) {
    const issues = toIssues("", result.issues, input).map(({ loc: [, ...path], msg }) => {
      const name = String(path[0] ?? "the settings");
      const isMissing = path.length === 1 && !(name in input);
      return `${path.join(".") || name}: ${isMissing ? `not set${nearMiss(name, sources, names)}` : msg}`;
    });
    if (collected !== null) {
      for (const issue of issues) collected.add(issue);
      return hidden({ ...input }) as Readonly<SchemaOutput<S>>;
    }
    const files = sources.slice(1).map(([file]) => file);
    const searched = files.length === 0 ? `; there is no .env file in ${folder}` : ` and ${files.join(", ")}`;
    const title = `settings are missing or wrong (looked in the environment${searched}):`;
    const error = new ValueError([title, ...new Set(issues)].join("\n  "));
    Error.captureStackTrace(error, defineSettings);
    throw error;
  }
  const value = result.value as object;
  for (const name of names ?? Object.keys(value)) {
    const from = sources.find(([, values]) => values[name])?.[0];
    if (from !== undefined || Object.hasOwn(value, name)) defined.push({ name, from: from ?? "its default" });
  }
  return hidden(value) as Readonly<SchemaOutput<S>>;
}

type Source = readonly [name: string, values: Readonly<Record<string, string | undefined>>];

const readOptions = checkedOptions<SettingsOptions>({ folder: is.text, env: is.object });

/** The environment, then the files, the more special ones first. Files of one machine alone do not count in tests. */
function sourcesOf(folder: string, env: NonNullable<SettingsOptions["env"]>): Source[] {
  const stage = env["STOA_ENV"] || env["NODE_ENV"] || "development";
  const files = [`.env.${stage}.local`, `.env.${stage}`, ...(stage === "test" ? [] : [".env.local"]), ".env"];
  const found: Source[] = [["the environment", env]];
  for (const name of files) {
    try {
      found.push([name, util.parseEnv(readFileSync(join(folder, name), "utf8"))]);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
        throw new ValueError(`${join(folder, name)} cannot be read: ${(error as Error).message}`, { cause: error });
      }
    }
  }
  return found;
}

function nearMiss(name: string, sources: readonly Source[], names: readonly string[] = []): string {
  const others = sources.flatMap(([, values]) => Object.keys(values));
  return didYouMean(
    name,
    others.filter((other) => !names.includes(other)),
  );
}

/** Printed in a log line or an error, settings show their names alone. */
function hidden(value: object): object {
  const shown = (): object => Object.fromEntries(Object.keys(value).map((name) => [name, "(hidden)"]));
  Object.defineProperty(value, inspect.custom, { value: shown });
  Object.defineProperty(value, "toJSON", { value: shown });
  return Object.freeze(value);
}
