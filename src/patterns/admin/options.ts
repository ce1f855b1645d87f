import { type Guard, isGuard } from "../../guards/guard.js";
import { type Checks, is, readOptions } from "../../internal/options.js";
import { parsePattern } from "../../routing/pattern.js";

/** The options of pages for operators. */
export interface AdminOptions {
  /** Path of the page. Default `/_sagas` or `/_jobs`. */
  readonly path?: string | undefined;
  /** Guards that must all pass. Required outside of development. */
  readonly guards?: readonly Guard[] | undefined;
}

const checks: Checks<AdminOptions> = {
  path: (value) => is.path(value) ?? (parsePattern(value as string).paramNames.length > 0 ? "a plain path" : undefined),
  guards: (value) => (Array.isArray(value) && value.every((guard) => isGuard(guard)) ? undefined : "a list of guards"),
};

export interface AdminSettings {
  readonly path: string;
  readonly guards: readonly Guard[];
}

/** Checks the option `admin`. A mistake in it is told by its own name. */
export function isAdminOptions(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return "an object of options";
  readOptions<AdminOptions>("option 'admin'", value, checks);
  return undefined;
}

export function readAdminOptions(given: AdminOptions, path: string): AdminSettings {
  const { path: chosen = path, guards = [] } = readOptions<AdminOptions>("option 'admin'", given, checks);
  return { path: chosen.length > 1 && chosen.endsWith("/") ? chosen.slice(0, -1) : chosen, guards };
}
