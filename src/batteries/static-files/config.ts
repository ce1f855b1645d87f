import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { config, type OptionsOf, option } from "../../kit/config.js";
import { is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { parsePattern } from "../../routing/pattern.js";

/** The directory that is served, the path prefix and the headers of its files. */
export class StaticFilesConfig extends config(
  "StaticFilesConfig",
  {
    /** The directory that holds the files. */
    directory: option.required(isDirectory, readDirectory),
    /** The path below which they are served. Default "/static". */
    prefix: option.made(is.path, readPrefix, "/static"),
    /** The file served for a directory. Default "index.html". */
    indexFile: option<string>(isFileName, "index.html"),
    /** Time for which a client may keep a file without asking again. Default 1 hour. */
    cacheMaxAge: option.duration("1h"),
    /** Serves `app.js.br` or `app.js.gz` in place of `app.js` to clients that accept it. Default true. */
    precompressed: option(is.boolean, true),
    /** Handling of names that begin with a dot. Default "deny". */
    dotfiles: option(is.oneOf("allow", "deny"), "deny"),
  },
  { order: ["directory", "prefix", "indexFile", "cacheMaxAge"] },
) {}

export interface StaticFilesOptions extends OptionsOf<typeof StaticFilesConfig.options.fields> {}

function isDirectory(value: unknown): string | undefined {
  if (value instanceof URL && value.protocol === "file:") return undefined;
  return is.text(value) === undefined ? undefined : "a non-empty string, or a file: URL";
}

function isFileName(value: unknown): string | undefined {
  return typeof value === "string" && /^[^/\\\0]+$/.test(value) ? undefined : "the name of a file";
}

function readDirectory(given: string | URL): string {
  const path = typeof given === "string" ? resolve(given) : resolve(fileURLToPath(given));
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ValueError(`option 'directory' in StaticFilesConfig must be a directory, and ${show(path)} is none`);
  }
  return path;
}

/** Without a slash at its end, but for the root's. */
function readPrefix(given: string): string {
  const prefix = given.length > 1 && given.endsWith("/") ? given.slice(0, -1) : given;
  if (parsePattern(prefix).paramNames.length > 0 || prefix.includes("//")) {
    throw new ValueError(`option 'prefix' in StaticFilesConfig must be a path without parameters, not ${show(given)}`);
  }
  return prefix;
}
