import { createRequire } from "node:module";
import { ValueError } from "../../../kit/value-error.js";

/** The versions of node-postgres whose internals are as described in `pg-module.ts`; also in package.json. */
export const pgRange = "~8.23.0";
const accepted = /^8\.23\./;

/** The members that are used or replaced, by class. Most are not in the published types, so any version may drop them. */
const members = {
  Client: ["connect", "query", "end", "on", "getStartupConf", "getTransactionStatus"],
  Connection: [
    "attachListeners",
    "on",
    "query",
    "parse",
    "describe",
    "bind",
    "execute",
    "close",
    "sync",
    "sendCopyFail",
  ],
  Query: ["on"],
} as const;

/** Throws if the installed version is not one of those that were checked, or lacks something that is used. */
export function assertUsable(pg: object, version: string | null): void {
  const installed = version === null ? "pg" : `pg ${version}`;
  if (version !== null && !accepted.test(version)) {
    throw new ValueError(`PostgreSQL needs the package 'pg' ${pgRange}, not ${version}: npm install pg@${pgRange}`);
  }
  const missing = missingMembers(pg as Record<string, unknown>);
  if (missing.length === 0) return;
  throw new ValueError(`${installed} lacks ${missing.join(", ")}, which is needed here: npm install pg@${pgRange}`);
}

function missingMembers(pg: Record<string, unknown>): string[] {
  return Object.entries(members).flatMap(([name, methods]) => {
    const found = pg[name];
    if (typeof found !== "function") return [name];
    const { prototype } = found as { prototype: Record<string, unknown> };
    return methods.filter((method) => typeof prototype[method] !== "function").map((method) => `${name}.${method}`);
  });
}

/** The version of the package; null if it is unknown, as in an application that is bundled into one file. */
export function installedVersion(): string | null {
  try {
    const { version } = createRequire(import.meta.url)("pg/package.json") as { version?: unknown };
    return typeof version === "string" ? version : null;
  } catch {
    return null;
  }
}
