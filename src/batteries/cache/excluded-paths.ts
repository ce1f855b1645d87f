import { percentDecoded } from "../../kit/encoding.js";
/** Paths that are not cached, each with everything below it; "/" is that page alone. Case and escapes do not matter. */
export class ExcludedPaths {
  readonly #exact: ReadonlySet<string>;
  readonly #below: readonly string[];

  constructor(paths: readonly string[]) {
    const plain = paths.map((path) => plainPath(path).replace(/(?<=.)\/+$/, ""));
    this.#exact = new Set(plain);
    this.#below = plain.filter((path) => path !== "/").map((path) => `${path}/`);
  }

  get isEmpty(): boolean {
    return this.#exact.size === 0;
  }

  has(path: string): boolean {
    const plain = plainPath(path);
    return this.#exact.has(plain) || this.#below.some((prefix) => plain.startsWith(prefix));
  }
}

function plainPath(path: string): string {
  // Routing refuses a malformed path; as a setting it is taken as it is.
  return (percentDecoded(path) ?? path)
    .replaceAll("\\", "/")
    .replace(/\/{2,}/g, "/")
    .toLowerCase();
}
