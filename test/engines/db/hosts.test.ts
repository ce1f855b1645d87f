import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import type { DatabaseOptions, TargetSessionAttrs } from "../../../src/engines/db/config.js";
import type { Database } from "../../../src/engines/db/database.js";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { service } from "../../support/service.js";
import { makeRole } from "./engines.js";
import { FaultProxy } from "./fault-proxy.js";

const server = service("postgres") ?? "";
const standby = service("replica") ?? "";

describe.skipIf(server === "")("a database", () => {
  const opened: Database[] = [];
  const proxies: FaultProxy[] = [];
  let closedPort: number;

  beforeAll(async () => {
    closedPort = await freePort();
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  });

  const open = async (options: Partial<DatabaseOptions>): Promise<Database> => {
    const db = await openDatabase({ sslmode: "disable", poolSize: 1, ...options });
    opened.push(db);
    return db;
  };

  const urlOf = (ports: readonly (string | number)[]): string =>
    `postgres://app@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/postgres`;

  const proxy = async (): Promise<FaultProxy> => {
    const made = await FaultProxy.start(server);
    proxies.push(made);
    return made;
  };
  const portOf = (through: FaultProxy): string => new URL(through.through(server)).port;

  /** The server as one that accepts no changes: the question for it is answered otherwise. */
  const readOnly = async (): Promise<FaultProxy> => {
    const made = await proxy();
    const asked = "pg_catalog.current_setting('default_transaction_read_only')";
    made.changeRequest = (chunk) =>
      Buffer.from(chunk.toString("latin1").replace(asked, "'on'::text".padEnd(asked.length)), "latin1");
    return made;
  };

  describe("several hosts", () => {
    it("A database with several hosts uses the first one that responds", async () => {
      const working = await proxy();
      const db = await open({ url: urlOf([closedPort, portOf(working)]), poolSize: 2 });
      expect(await db.fetchval("select 1")).toBe(1);
      expect(working.connections).toBe(1);
    });

    it("The error names all hosts if none responds", async () => {
      const error = await open({ url: urlOf([closedPort, closedPort]), connectTimeout: 2 }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(OperationalError);
      const { message } = error as Error;
      expect(
        message.match(new RegExp(`cannot connect to PostgreSQL at 127\\.0\\.0\\.1:${closedPort}`, "g")),
      ).toHaveLength(2);
    });

    it("A host that never responds gets no more than its share of the time to connect", async () => {
      const [silent, working] = [await proxy(), await proxy()];
      silent.blackHole = true;
      const db = await open({ url: urlOf([portOf(silent), portOf(working)]), connectTimeout: 4 });
      expect(await db.fetchval("select 1")).toBe(1);
    });

    it("A database with several hosts continues with another when one is lost", async () => {
      const [first, second] = [await proxy(), await proxy()];
      const db = await open({ url: urlOf([portOf(first), portOf(second)]) });
      expect([first.connections, second.connections]).toEqual([1, 0]);
      await first.close();
      proxies.splice(proxies.indexOf(first), 1);
      await vi.waitFor(async () => expect(await db.fetchval("select 1")).toBe(1), { timeout: 10_000 });
      expect(second.connections).toBe(1);
    });

    it("A host that refuses the account is not followed by another attempt", async () => {
      const second = await proxy();
      const { port } = new URL(server);
      const url = urlOf([port, portOf(second)]);
      const error = await open({ url, user: "nobody_of_that_name" }).catch((e: unknown) => e);
      expect((error as OperationalError).sqlstate).toBe("28000");
      expect(second.connections).toBe(0);
    });
  });

  describe("targetSessionAttrs", () => {
    const { port = "" } = server === "" ? {} : new URL(server);

    it.each(["read-write", "primary", "prefer-standby", "any"] as const)(
      "The setting targetSessionAttrs %s accepts a primary",
      async (wanted) => {
        const db = await open({ url: `${urlOf([port])}?target_session_attrs=${wanted}` });
        expect(await db.fetchval("select 1")).toBe(1);
      },
    );

    it.each([
      ["standby", "it is a primary, not standby"],
      ["read-only", "it is read-write, not read-only"],
    ] as [TargetSessionAttrs, string][])(
      "The setting targetSessionAttrs %s refuses a primary",
      async (targetSessionAttrs, reason) => {
        const db = open({ url: server, targetSessionAttrs, connectTimeout: 4 });
        await expect(db).rejects.toThrow(reason);
      },
    );

    it("The setting read-write skips a read-only server, and finds the other server after a failover", async () => {
      const [first, second] = [await readOnly(), await proxy()];
      const url = urlOf([portOf(first), portOf(second)]);
      const db = await open({ url, targetSessionAttrs: "read-write" });
      expect(await db.fetchval("select 1")).toBe(1);
      expect(second.connections).toBe(1);
      await vi.waitFor(() => expect(first.connections).toBe(0));
      const asked = first.changeRequest;
      first.changeRequest = null;
      second.changeRequest = asked;
      second.cut();
      await vi.waitFor(async () => expect(await db.fetchval("select 1")).toBe(1), { timeout: 10_000 });
      expect(first.connections).toBe(1);
    });

    it("The start waits for a server that matches targetSessionAttrs", async () => {
      const first = await readOnly();
      let asked = 0;
      const { changeRequest } = first;
      first.changeRequest = (chunk) => {
        if (chunk.includes("default_transaction_read_only") && ++asked > 2) return chunk;
        return changeRequest!(chunk);
      };
      const db = await open({ url: urlOf([portOf(first)]), targetSessionAttrs: "read-write" });
      expect(await db.fetchval("select 1")).toBe(1);
      expect(asked).toBe(3);
    });
  });

  describe.skipIf(standby === "")("a real primary and its standby", () => {
    const { port = "" } = server === "" ? {} : new URL(server);

    it.each([
      ["read-write", false],
      ["primary", false],
      ["standby", true],
      ["read-only", true],
      ["prefer-standby", true],
    ] as [TargetSessionAttrs, boolean][])(
      "The setting targetSessionAttrs %s finds the server of its kind among a real primary and its standby",
      async (targetSessionAttrs, follows) => {
        for (const ports of [
          [port, new URL(standby).port],
          [new URL(standby).port, port],
        ]) {
          const db = await open({ url: urlOf(ports), targetSessionAttrs });
          expect(await db.fetchval("select pg_is_in_recovery()")).toBe(follows);
        }
      },
    );

    it("A write on a real standby is an OperationalError, and its connection is replaced", async () => {
      const db = await open({ url: standby });
      const pid = await db.fetchval("select pg_backend_pid()");
      const error = await db.execute("create table refused (n int)").catch((e: unknown) => e);
      expect(error).toBeInstanceOf(OperationalError);
      expect((error as OperationalError).sqlstate).toBe("25006");
      expect(await db.fetchval("select pg_backend_pid()")).not.toBe(pid);
    });
  });

  describe("a function for the password", () => {
    let admin: Database;

    beforeAll(async () => {
      admin = await openDatabase(server);
      await makeRole(admin, "password");
    });

    afterAll(async () => {
      await admin?.close();
    });

    it("A function for the password is called for each connection", async () => {
      const password = vi.fn(async () => "hunter2");
      const db = await open({ url: server, user: "password", password, poolSize: 2 });
      expect(password).toHaveBeenCalledTimes(1);
      await db.session((session) => Promise.all([session.fetchval("select 1"), db.fetchval("select 2")]));
      expect(password).toHaveBeenCalledTimes(2);
    });

    it.each([
      ["throws", () => Promise.reject(new Error("no token")), "the function for the password failed: no token"],
      ["returns no text", () => 42 as unknown as string, "it returned no string"],
      ["never ends", () => new Promise<string>(() => {}), "it took too long"],
    ])("A connection fails if the function for its password %s", async (_, password, reason) => {
      const error = await open({ url: server, user: "password", password, connectTimeout: 0.1 }).catch(
        (e: unknown) => e,
      );
      expect(error).toBeInstanceOf(OperationalError);
      expect((error as Error).message).toContain(reason);
    });
  });
});
