import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { DatabaseOptions } from "../../../src/engines/db/config.js";
import type { Database } from "../../../src/engines/db/database.js";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { service } from "../../support/service.js";
import { makeRole } from "./engines.js";
import { FaultProxy } from "./fault-proxy.js";

const server = service("postgres") ?? "";

describe.skipIf(server === "")("sslmode", () => {
  const opened: Database[] = [];
  let admin: Database;
  let certificate: string;

  beforeAll(async () => {
    admin = await openDatabase(server);
    for (const role of ["plain_only", "tls_only", "password"]) await makeRole(admin, role);
    certificate = join(String(await admin.fetchval("show data_directory")), "server.crt");
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
  });

  afterAll(async () => {
    await admin?.close();
  });

  const open = async (options: Partial<DatabaseOptions>): Promise<Database> => {
    const db = await openDatabase({ url: server, ...options });
    opened.push(db);
    return db;
  };

  /** True if the connection is encrypted, according to the server. */
  const encrypted = async (options: Partial<DatabaseOptions>): Promise<unknown> =>
    (await open(options)).fetchval("select ssl from pg_stat_ssl where pid = pg_backend_pid()");

  const failure = async (options: Partial<DatabaseOptions>): Promise<OperationalError> => {
    const error = await open({ connectTimeout: 1, ...options }).then(
      () => new Error("it did connect"),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(OperationalError);
    return error as OperationalError;
  };

  /** The server as one that has no TLS: it answers N to the request for it. */
  const withoutTls = async (): Promise<FaultProxy> => {
    const proxy = await FaultProxy.start(server);
    proxy.changeRequest = (chunk) => {
      if (chunk.length !== 8) return chunk;
      setTimeout(() => proxy.inject(Buffer.from("N")), 0);
      return Buffer.alloc(0);
    };
    return proxy;
  };

  it("The sslmode disable does not encrypt; prefer and require do", async () => {
    expect(await encrypted({ sslmode: "disable" })).toBe(false);
    expect(await encrypted({})).toBe(true);
    expect(await encrypted({ sslmode: "require" })).toBe(true);
  });

  it("The sslmode allow encrypts only if it must", async () => {
    expect(await encrypted({ sslmode: "allow" })).toBe(false);
    expect(await encrypted({ sslmode: "allow", user: "tls_only" })).toBe(true);
  });

  it("The sslmode prefer continues without TLS if the server has none; require does not", async () => {
    const proxy = await withoutTls();
    const url = proxy.through(server);
    expect(await encrypted({ url })).toBe(false);
    expect((await failure({ url, sslmode: "require" })).message).toContain("does not support SSL");
    await Promise.all(opened.splice(0).map((database) => database.close()));
    await proxy.close();
  });

  it("The sslmode prefer continues without TLS if the server refuses connections with TLS", async () => {
    expect(await encrypted({ user: "plain_only" })).toBe(false);
    expect((await failure({ user: "plain_only", sslmode: "require" })).sqlstate).toBe("28000");
  });

  it("The sslmode require does not check the certificate, unless a root certificate is given", async () => {
    expect(await encrypted({ sslmode: "require" })).toBe(true);
    expect(await encrypted({ sslmode: "require", sslrootcert: certificate })).toBe(true);
    const other = join(dirname(new URL(import.meta.url).pathname), "other-ca.pem");
    expect((await failure({ sslmode: "require", sslrootcert: other })).message).toMatch(/certificate/i);
  });

  it("The sslmode verify-ca checks the signature of the certificate; verify-full also checks the name", async () => {
    const sslrootcert = certificate;
    expect(await encrypted({ sslmode: "verify-ca", sslrootcert })).toBe(true);
    expect((await failure({ sslmode: "verify-ca" })).message).toMatch(/self[- ]signed/i);
    expect((await failure({ sslmode: "verify-full", sslrootcert })).message).toContain("127.0.0.1");
    expect(await encrypted({ sslmode: "verify-full", sslrootcert, host: "localhost" })).toBe(true);
  });

  it("A root certificate that cannot be read is an error", async () => {
    await expect(openDatabase({ url: server, sslrootcert: "/nowhere/ca.pem" })).rejects.toThrow(
      "option 'sslrootcert' in DatabaseConfig: /nowhere/ca.pem cannot be read (ENOENT)",
    );
    await expect(openDatabase({ url: server, sslrootcert: "system", sslmode: "require" })).rejects.toThrow(
      "with sslmode 'verify-full' only",
    );
  });

  it("A wrong password over TLS fails at once, and no error shows a password", async () => {
    expect(await encrypted({ user: "password", password: "hunter2" })).toBe(true);
    const error = await failure({ user: "password", password: "not-hunter2", connectTimeout: 60 });
    expect(error.sqlstate).toBe("28P01");
    expect(`${error.stack}${String(error.cause)}`).not.toContain("not-hunter2");
  });

  it("A statement on an encrypted connection can be cancelled", async () => {
    const db = await open({ sslmode: "require" });
    await expect(db.fetch("select pg_sleep(44)", [], { timeout: 0.05 })).rejects.toMatchObject({ sqlstate: "57014" });
    const running = "select count(*) from pg_stat_activity where query = 'select pg_sleep(44)' and state = 'active'";
    await vi.waitFor(async () => expect(await admin.fetchval(running)).toBe(0), { timeout: 5000 });
  });
});
