import { decodedPath } from "../http/path.js";
import { show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import { pathKind } from "../routing/tree.js";

/** Paths that a middleware skips: each path itself and everything below it. */
export class SkippedPaths {
  readonly #exact = new Set<string>();
  readonly #below: string[] = [];

  constructor(owner = "", paths: readonly string[] = []) {
    for (const path of paths) this.add(owner, path);
  }

  add(owner: string, path: string): void {
    const plain = asRequested(owner, path);
    if (this.#exact.has(plain)) return;
    this.#exact.add(plain);
    // "/" skips that page only, not everything below it.
    if (plain !== "/") this.#below.push(plain.endsWith("/") ? plain : `${plain}/`);
  }

  /** Takes a path in the form of `request.path`. A path with escaped slashes is another path. */
  covers(path: string): boolean {
    if (this.#exact.size === 0) return false;
    if (this.#exact.has(path)) return true;
    for (const prefix of this.#below) {
      if (path.startsWith(prefix)) return staysBelow(path);
    }
    return false;
  }
}

/** Routing refuses `/health/../admin` in every encoding; this check does not depend on it. */
function staysBelow(path: string): boolean {
  return pathKind(path) !== "malformed";
}

/** The path in the form that `request.path` has. */
function asRequested(owner: string, path: string): string {
  if (typeof path !== "string" || !path.startsWith("/")) {
    throw new ValueError(`${owner} takes a path that begins with '/', not ${show(path)}`);
  }
  if (/[*{}]/.test(path)) {
    throw new ValueError(`${owner} takes a plain path, not the pattern ${show(path)}; what is below it is covered too`);
  }
  if (/[?#\s\\]/.test(path))
    throw new ValueError(`${show(path)} in ${owner} holds a character that a path cannot have`);
  if (!staysBelow(path)) throw new ValueError(`${show(path)} in ${owner} is not a path that a route can have`);
  return decodedPath(path.replace(/[^\x21-\x7e]+/g, (run) => encodeURIComponent(run.toWellFormed())));
}
