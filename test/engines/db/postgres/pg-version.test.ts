import { readFile } from "node:fs/promises";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { assertUsable, installedVersion, pgRange } from "../../../../src/engines/db/postgres/pg-version.js";
import { ValueError } from "../../../../src/kit/value-error.js";

describe("the version of node-postgres", () => {
  it("The installed version of node-postgres is found and usable", () => {
    expect(installedVersion()).toMatch(/^8\.23\.\d+$/);
    expect(() => assertUsable(pg, installedVersion())).not.toThrow();
    expect(() => assertUsable(pg, null)).not.toThrow();
  });

  it("The required version of node-postgres is the one in package.json", async () => {
    const file = new URL("../../../../package.json", import.meta.url);
    const { peerDependencies } = JSON.parse(await readFile(file, "utf8")) as {
      peerDependencies: Record<string, string>;
    };
    expect(peerDependencies["pg"]).toBe(pgRange);
  });

  it.each(["8.22.0", "8.24.0", "9.0.0", "8.230.0"])("Version %s of node-postgres is refused", (version) => {
    expect(() => assertUsable(pg, version)).toThrow(
      new ValueError(`PostgreSQL needs the package 'pg' ~8.23.0, not ${version}: npm install pg@~8.23.0`),
    );
  });

  it("A node-postgres without the members that are used is refused", () => {
    class Connection {}
    class Client extends pg.Client {
      getStartupConf = undefined;
    }
    Object.defineProperty(Client.prototype, "getStartupConf", { value: undefined });
    const changed = { ...pg, Connection, Client, Query: undefined };
    expect(() => assertUsable(changed, "8.23.9")).toThrow(
      /^pg 8\.23\.9 lacks Client\.getStartupConf, Connection\.attachListeners, .*, Query, which is needed here: npm/,
    );
  });
});
