import { percentDecoded } from "../kit/encoding.js";

/**
 * A path with its percent escapes decoded once, as routes match it: `/%61dmin` is `/admin`. Escapes that would change the
 * meaning of the text stay as they are: slashes, `%`, `?`, `#`, white space, control characters, and bytes that are not
 * UTF-8. A path can therefore be decoded again without harm, and the path of a route holds none of these.
 */
export function decodedPath(path: string): string {
  // Beside a malformed escape, decoded text could become an escape: "%%34%30" would be "%40". No route takes such a path.
  return path.replace(escapes, "").includes("%") ? path : path.replace(escapes, decodeRun);
}

const escapes = /(?:%[0-9A-Fa-f]{2})+/g;

/** `%`, `/`, `\`, `?`, `#` and DEL. */
const kept: ReadonlySet<string> = new Set(["%25", "%2f", "%5c", "%3f", "%23", "%7f"]);

/** Decodes escapes that follow one another: a character beyond ASCII takes several. */
function decodeRun(run: string): string {
  let decoded = "";
  let open = 0;
  for (let i = 0; i <= run.length; i += 3) {
    const each = run.slice(i, i + 3).toLowerCase();
    // Control characters are those of which the first digit is 0 or 1.
    if (i < run.length && !kept.has(each) && each[1] !== "0" && each[1] !== "1") continue;
    const text = run.slice(open, i);
    decoded += (percentDecoded(text)?.replace(/[\s\x80-\x9f]/g, encodeURIComponent) ?? text) + run.slice(i, i + 3);
    open = i + 3;
  }
  return decoded;
}
