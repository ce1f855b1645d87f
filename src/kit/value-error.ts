import { isPackageFile, placeOf } from "./package-folder.js";

/**
 * A value that a caller gave and that cannot be used: an unknown option, a wrong type, an impossible setting. Its stack begins
 * with the caller's own line, not with those of the framework that found the mistake.
 */
export class ValueError extends Error {
  override name = "ValueError";

  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    try {
      const lines = String(this.stack).split("\n");
      const places = lines.map(placeOf);
      const top = places.findIndex((place) => place !== null);
      const own = places.findIndex((place) => place !== null && !place.startsWith("node:") && !isPackageFile(place));
      if (own > top) this.stack = [`ValueError: ${message}`, ...lines.slice(own)].join("\n");
    } catch {
      // A stack may be in any form, with names that are no paths: it stays as it is.
    }
  }
}
