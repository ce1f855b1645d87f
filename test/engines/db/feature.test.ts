import { afterEach, describe, expect, it, vi } from "vitest";
import { App } from "../../../src/app/app.js";
import { DatabaseConfig } from "../../../src/engines/db/config.js";
import { OperationalError, UniqueViolation } from "../../../src/engines/db/errors.js";
import { Response } from "../../../src/http/response.js";
import type { Logger } from "../../../src/kit/logger.js";
import { ValueError } from "../../../src/kit/value-error.js";
import { serve } from "../../../src/testing/serve.js";
import { service } from "../../support/service.js";
import { emptyDatabases } from "./engines.js";

const server = service("postgres");
const empty = emptyDatabases(server);

/** A logger that keeps what it is told. */
function recorder(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const write = (message: string, fields?: object): void => {
    lines.push(
      `${message} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? String(value.stack) : value))}`,
    );
  };
  const logger = { debug: write, info: write, warn: write, error: write, child: () => logger } as unknown as Logger;
  return { logger, lines };
}

describe("enableDatabase", () => {
  const apps: App[] = [];

  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.stop()));
  });

  const create = (): App => {
    const app = new App();
    apps.push(app);
    return app;
  };

  it("enableDatabase() needs a configuration", () => {
    expect(() => create().enableDatabase(null as never)).toThrow(ValueError);
    expect(() => create().enableDatabase(undefined as never)).toThrow(ValueError);
    expect(() => create().enable_database({ pool_siz: 3 } as never)).toThrow("did you mean 'pool_size'?");
  });

  it("A second call of enableDatabase() is refused", async () => {
    const app = create().enableDatabase("pglite:");
    expect(() => app.enableDatabase("pglite:")).toThrow("has been called already");
  });

  it("app.database and request.db without enableDatabase() throw an error that names the call", async () => {
    const app = create();
    app.get("/", (request) => String(request.db));
    app.logger = recorder().logger;
    expect(() => app.database).toThrow("app.database needs app.enableDatabase()");
    expect((await app.request("/")).status).toBe(500);
  });

  it("app.database, request.database and request.db are usable from the startup hooks on", async () => {
    const app = create().enableDatabase(new DatabaseConfig({ url: await empty() }));
    app.onEvent("startup", () =>
      app.database.script("create table books (title text unique); insert into books values ('Emma')"),
    );
    app.get("/books", async (request) => request.db.fetch("select title from books"));
    app.get("/same", (request) => ({ same: request.db === request.database }));
    expect(await (await app.request("/books")).json()).toEqual([{ title: "Emma" }]);
    expect(await (await app.request("/same")).json()).toEqual({ same: true });
    const { database } = app;
    await app.stop();
    await expect(database.fetch("select 1")).rejects.toThrow("the database has been closed");
  });

  it("A database error in a handler is the contract's 500 response, and no value is logged", async () => {
    const { logger, lines } = recorder();
    const app = create().enableDatabase(await empty());
    app.logger = logger;
    app.onEvent("startup", () =>
      app.database.script("create table books (title text unique); insert into books values ('hidden')"),
    );
    app.post("/books", async (request) => request.db.execute("insert into books values ($1)", ["hidden"]));
    await using wire = await serve(app, { debug: false });
    const response = await fetch(`${wire.url}/books`, { method: "POST" });
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: "Internal Server Error", status: 500 });
    await vi.waitFor(() => expect(lines.join("\n")).toContain("UniqueViolation"));
    expect(lines.join("\n")).not.toContain("hidden");
  });

  it("The error page in debug mode shows the class and the message of a database error", async () => {
    const app = create().enableDatabase(await empty());
    app.logger = recorder().logger;
    app.get("/", async (request) => request.db.fetch("select * from nowhere"));
    await using wire = await serve(app, { debug: true });
    expect(await (await fetch(wire.url)).json()).toEqual({
      error: 'Async handler error: ProgrammingError: relation "nowhere" does not exist',
      status: 500,
    });
  });

  it("An exception handler can respond to a database error", async () => {
    const app = create().enableDatabase(await empty());
    app.onEvent("startup", () =>
      app.database.script("create table books (title text unique); insert into books values ('Emma')"),
    );
    app.exceptionHandler(UniqueViolation, (_, error) => Response.json({ taken: error.column }, { status: 409 }));
    app.post("/books", async (request) => request.db.execute("insert into books values ('Emma')"));
    const response = await app.request("/books", { method: "POST" });
    expect([response.status, await response.json()]).toEqual([409, { taken: "title" }]);
  });

  it("An unreachable database stops the start with a clear error", async () => {
    const app = create().enableDatabase({ url: "postgres://ada:hunter2@127.0.0.1:1/x", connectTimeout: 0.1 });
    const error = await app.start().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OperationalError);
    expect((error as Error).message).toMatch(
      /^cannot connect to PostgreSQL at 127\.0\.0\.1:1\/x: .*; is the server running, and does app\.enableDatabase\(\) have its address/,
    );
  });

  it.skipIf(!server)("The statements of a request are cancelled when its client disconnects", async () => {
    const app = create().enableDatabase({ url: server!, poolSize: 2 });
    app.logger = recorder().logger;
    app.get("/slow", async (request) => request.db.transaction((tx) => tx.fetch("select pg_sleep(55)")));
    await using wire = await serve(app, { debug: false });
    const sleeping = (): Promise<unknown> =>
      app.database.fetchval(
        "select count(*) from pg_stat_activity where query = 'select pg_sleep(55)' and state <> 'idle'",
      );
    const controller = new AbortController();
    const call = fetch(`${wire.url}/slow`, { signal: controller.signal }).catch(() => {});
    await vi.waitFor(async () => expect(await sleeping()).toBe(1));
    controller.abort();
    await call;
    await vi.waitFor(async () => expect(await sleeping()).toBe(0), { timeout: 5000 });
    await vi.waitFor(() => expect(app.database.stats().inUse).toBe(0));
  });
});
