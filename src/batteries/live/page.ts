import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeCrypto } from "../../internal/node-modules.js";
import { packageFolder } from "../../internal/package-folder.js";
import { missingFile } from "../../internal/page-files.js";
import { pageMarkup } from "./page-markup.js";
import { pageStyle } from "./page-style.js";

export interface LivePage {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

/**
 * The page: one document that loads nothing but its own events. Style and script are named by their hashes, so nothing
 * else that might get into it is applied or run.
 */
export async function livePage(): Promise<LivePage> {
  const script = await readFile(join(packageFolder(), "src", "batteries", "live", "client.js"), "utf8").catch(
    (error) => {
      throw missingFile("the script of the live page", error);
    },
  );
  return {
    html: pageMarkup(pageStyle, script),
    contentSecurityPolicy: [
      "default-src 'none'",
      `style-src '${hash(pageStyle)}'`,
      `script-src '${hash(script)}'`,
      "connect-src 'self'",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
  };
}

function hash(text: string): string {
  return `sha256-${nodeCrypto().createHash("sha256").update(text).digest("base64")}`;
}
