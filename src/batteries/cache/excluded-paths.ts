/** Paths left alone, each with everything below it. Neither case nor escapes lead around them. */
export class ExcludedPaths {
  readonly #exact: ReadonlySet<string>;
  readonly #below: readonly string[];

  constructor(paths: readonly string[]) {
    const plain = paths.map((path) => plainPath(path).replace(/\/+$/, ""));
    this.#exact = new Set(plain);
    this.#below = plain.map((path) => `${path}/`);
  }

  get isEmpty(): boolean {
    return this.#below.length === 0;
  }

  has(path: string): boolean {
    const plain = plainPath(path);
    return this.#exact.has(plain) || this.#below.some((prefix) => plain.startsWith(prefix));
  }
}

function plainPath(path: string): string {
  let decoded = path;
  if (path.includes("%")) {
    try {
      decoded = decodeURIComponent(path);
    } catch {
      // Routing has refused such a path; as a setting it stands for itself.
    }
  }
  return decoded
    .replaceAll("\\", "/")
    .replace(/\/{2,}/g, "/")
    .toLowerCase();
}
