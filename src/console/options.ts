import { type Guard, isGuard } from "../guards/guard.js";
import { type Option, type OptionsOf, option, options } from "../kit/config.js";
import type { Check } from "../kit/options.js";
import { isPlainPath } from "../routing/pattern.js";
import type { ConsoleSection } from "./section.js";

const areGuards: Check<readonly Guard[]> = (value) =>
  Array.isArray(value) && value.every((guard) => isGuard(guard)) ? undefined : "a list of guards";

const adminOptions = options("option 'admin'", {
  /** Path of the page. Default `/_sagas`, `/_jobs` or `/_machine`. */
  path: option(isPlainPath),
  /** Guards that must all pass. Required outside of development. */
  guards: option(areGuards, []),
});

/** The options of pages for operators. */
export interface AdminOptions extends OptionsOf<typeof adminOptions.fields> {}

export type AdminSettings = Required<Pick<ConsoleSection, "path" | "guards">>;

/** The option `admin`. A mistake in it is told by its own name. */
export function adminOption(path: string): Option<AdminOptions, AdminSettings | undefined> {
  const read = (given: AdminOptions): AdminSettings => {
    const { path: chosen = path, guards } = adminOptions.read([given]);
    return { path: chosen.replace(/(?<=.)\/$/, ""), guards };
  };
  const isAdmin: Check<AdminOptions> = (value) =>
    typeof value === "object" && value !== null ? undefined : "an object of options";
  return option.made(isAdmin, read, undefined);
}
