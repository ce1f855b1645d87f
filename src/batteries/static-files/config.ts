import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ConfigOf } from "../../internal/config-of.js";
import { addSnakeNames, type EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readCall, required, show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { parsePattern } from "../../routing/pattern.js";

export interface StaticFilesOptions {
  /** The directory that holds the files. */
  readonly directory: string | URL;
  /** The path below which they are served. Default "/static". */
  readonly prefix?: string;
  /** The file served for a directory. Default "index.html". */
  readonly indexFile?: string;
  /** Seconds for which a client may keep a file without asking again. Default 3600. */
  readonly cacheMaxAge?: number;
  /** Serves `app.js.br` or `app.js.gz` in place of `app.js` to clients that accept it. Default true. */
  readonly precompressed?: boolean;
  /** Handling of names that begin with a dot. Default "deny". */
  readonly dotfiles?: "allow" | "deny";
}

const checks: Checks<StaticFilesOptions> = {
  directory: is.either(is.text, (value) =>
    value instanceof URL && value.protocol === "file:" ? undefined : "a file: URL",
  ),
  prefix: is.path,
  indexFile: (value) => (typeof value === "string" && /^[^/\\\0]+$/.test(value) ? undefined : "the name of a file"),
  cacheMaxAge: is.integer(0),
  precompressed: is.boolean,
  dotfiles: is.oneOf("allow", "deny"),
};

const contractOrder = ["directory", "prefix", "indexFile", "cacheMaxAge"] as const;

type Given = [
  directoryOrOptions: string | URL | EitherSpelling<StaticFilesOptions>,
  prefix?: string,
  indexFile?: string,
  cacheMaxAge?: number,
];

class BaseConfig {
  /** Absolute. */
  readonly directory: string;
  readonly prefix: string;
  readonly precompressed: boolean;
  readonly dotfiles: "allow" | "deny";
  readonly #indexFile: string;
  readonly #cacheMaxAge: number;

  constructor(...given: Given) {
    const options = readCall<StaticFilesOptions>("StaticFilesConfig", given, contractOrder, checks);
    this.directory = readDirectory(required("StaticFilesConfig", options, "directory"));
    this.prefix = readPrefix(options.prefix ?? "/static");
    this.precompressed = options.precompressed ?? true;
    this.dotfiles = options.dotfiles ?? "deny";
    this.#indexFile = options.indexFile ?? "index.html";
    this.#cacheMaxAge = options.cacheMaxAge ?? 3600;
  }

  get indexFile(): string {
    return this.#indexFile;
  }

  get cacheMaxAge(): number {
    return this.#cacheMaxAge;
  }
}

/** The directory that is served, the path prefix and the headers of its files. */
export class StaticFilesConfig extends BaseConfig {
  /** Takes a config, its fields, or the contract's positional arguments. */
  static from(given: readonly unknown[]): StaticFilesConfig {
    return given[0] instanceof StaticFilesConfig ? given[0] : new StaticFilesConfig(...(given as Given));
  }
}
export interface StaticFilesConfig extends ConfigOf<"StaticFilesConfig"> {
  readonly index_file: string;
  readonly cache_max_age: number;
}
addSnakeNames(BaseConfig.prototype, ["indexFile", "cacheMaxAge"]);

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
