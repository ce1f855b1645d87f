import { ForbiddenError } from "../../errors/http-error.js";
import { ipFamily } from "../../http/ip-family.js";
import type { Request } from "../../http/request.js";

// A page on another site can have the browser of a developer ask for the live page and its events: by the address, which
// CORS may allow to all, or under a name of its own that leads to this machine (DNS rebinding).

/** Refuses a request that a page of another site makes. */
export function checkSite(request: Request): void {
  const site = request.source.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    throw new ForbiddenError("The live page is not for other sites.");
  }
}

/** Refuses names that anybody could have made lead here. */
export function checkHost(request: Request, allowed: readonly string[]): void {
  const name = hostName(request.source.header("host") ?? "");
  if (isLocal(name) || allowed.includes(name)) return;
  throw new ForbiddenError(
    "The live page is not shown under this name; enableLivePage({ hosts: [...] }) allows others.",
  );
}

function hostName(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, "")
    .replace(/^\[(.*)\]$/, "$1");
}

function isLocal(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost") || ipFamily(name) !== 0;
}
