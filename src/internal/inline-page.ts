import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeCrypto } from "./node-modules.js";
import { packageFolder } from "./package-folder.js";
import { missingFile } from "./page-files.js";

/** The script of a page, by its path below `src`. It is a file of its own, so that it can be checked as a program. */
export function pageScript(...path: readonly string[]): Promise<string> {
  return readFile(join(packageFolder(), "src", ...path), "utf8").catch((error) => {
    throw missingFile(path.join("/"), error);
  });
}

/**
 * The policy of a page that is one document and loads nothing but its own data. Style and script are named by their
 * hashes, so nothing else that might get into the page is applied or run.
 */
export function inlinePolicy(style: string, script: string): string {
  return [
    "default-src 'none'",
    `style-src '${hash(style)}'`,
    `script-src '${hash(script)}'`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function hash(text: string): string {
  return `sha256-${nodeCrypto().createHash("sha256").update(text).digest("base64")}`;
}
