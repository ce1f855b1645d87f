import { App } from "stoa";
import { serve } from "stoa/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { DatabaseOptions } from "../../../../src/engines/db/config.js";
import { callersAreWatched } from "../../../../src/engines/db/log/watched-call.js";
import { openDatabase } from "../../../../src/engines/db/open-database.js";
import { field, Model } from "../../../../src/entry/orm.js";
import type { Logger } from "../../../../src/kit/logger.js";
import { createTables } from "../../../../src/orm/schema/create-tables.js";
import { service } from "../../../support/service.js";
import { engines } from "../engines.js";

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** A logger that keeps its lines. */
function recorder(): { logger: Logger; lines: Line[]; queries(): Line[] } {
  const lines: Line[] = [];
  const write =
    (level: string) =>
    (message: string, fields: object = {}): void => {
      lines.push({ level, message, fields: { ...fields } });
    };
  const logger: Logger = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: () => logger,
  };
  return { logger, lines, queries: () => lines.filter(({ message }) => message.endsWith("query")) };
}

/** Lines of every statement, none of them slow: on a busy machine any may take longer than the default. */
const everything = { slow: "1h" } as const;

class Writer extends Model("log_writers", {
  id: field.auto(),
  name: field.text(),
  get poems() {
    return field.reverse(() => Poem, "writer");
  },
}) {}
class Poem extends Model("log_poems", {
  id: field.auto(),
  title: field.text(),
  writer: field.foreignKey(() => Writer),
}) {}

/** The server where there is one: the embedded database takes seconds to start. */
const engine = engines(service("postgres")).at(-1)!;

describe("the log of queries", () => {
  const closing: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  const place = async (): Promise<string> => {
    const { url, drop } = await engine.make();
    closing.push(drop);
    return url;
  };

  const started = async (logQueries: DatabaseOptions["logQueries"], prepare: (app: App) => void) => {
    const kept = recorder();
    const app = new App();
    app.logger = kept.logger;
    app.enableDatabase({ url: await place(), ...(logQueries !== undefined && { logQueries }) });
    prepare(app);
    const server = await serve(app, { debug: true });
    closing.push(() => server.close());
    const get = async (path: string, headers: Record<string, string> = {}): Promise<string> =>
      (await fetch(server.url + path, { headers })).text();
    return { ...kept, app, get };
  };

  it("A line has the statement, its duration and rows, and the route and id of its request", async () => {
    const { get, queries } = await started(everything, (app) => {
      app.enableRequestId();
      app.get("/numbers/{n}", async (request) =>
        request.db.fetch("select n from generate_series(1, $1::int) n", [Number(request.params.n)]),
      );
    });
    await get("/numbers/3", { "x-request-id": "abc" });
    expect(queries()).toEqual([
      {
        level: "info",
        message: "query",
        fields: {
          statement: "select n from generate_series(1, $1::int) n",
          duration_ms: expect.any(Number),
          rows: 3,
          method: "GET",
          route: "/numbers/{n}",
          request_id: expect.any(String),
          caller: expect.stringMatching(/query-log\.test\.ts:\d+$/),
        },
      },
    ]);
  });

  it("Rows are counted for every kind of result, and for changes", async () => {
    const { logger, queries } = recorder();
    const db = await openDatabase({ url: await place(), logQueries: everything }, { logger });
    closing.push(() => db.close());
    await db.execute("create table t (n int)");
    await db.execute("insert into t values (1), (2), (3)");
    await db.fetchrow("select n from t");
    await db.fetchval("select n from t where n > 1");
    await db.fetchArrays("select n from t");
    await db.transaction((tx) => tx.execute("delete from t"));
    expect(queries().map(({ fields }) => fields["rows"])).toEqual([0, 3, 3, 2, 3, 3]);
  });

  it("The embedded database logs rows, callers and plans too", async () => {
    const { logger, queries } = recorder();
    const db = await openDatabase({ url: "pglite:", logQueries: { slow: 0, explain: true } }, { logger });
    closing.push(() => db.close());
    await db.fetch("select n from generate_series(1, $1::int) n", [3]);
    await vi.waitFor(() => expect(queries()).toHaveLength(1), 10_000);
    expect(queries()[0]!.fields).toMatchObject({
      rows: 3,
      caller: expect.stringMatching(/query-log\.test\.ts:\d+$/),
      plan: expect.stringContaining("Function Scan"),
    });
  });

  it("The file and line of a statement are left out if caller is false", async () => {
    const { logger, queries } = recorder();
    const db = await openDatabase({ url: await place(), logQueries: { caller: false } }, { logger });
    closing.push(() => db.close());
    await db.fetch("select 1");
    await vi.waitFor(() => expect(queries()).toHaveLength(1));
    expect(queries()[0]!.fields).not.toHaveProperty("caller");
  });

  it("Values are neither in the fields nor in the text unless parameters are asked for", async () => {
    const { logger, lines } = recorder();
    const db = await openDatabase({ url: await place(), logQueries: { explain: true, slow: 0 } }, { logger });
    closing.push(() => db.close());
    await db.fetch("select $1::text as name, 1", ["hunter2"]);
    await db.fetch("select 'hunter2' as name");
    await db.fetch("select relname from pg_class where relname = $1", ["hunter2"]);
    await db.fetch("select relname from pg_class where relname = 'hunter2'");
    await vi.waitFor(() => expect(lines).toHaveLength(4));
    expect(JSON.stringify(lines)).not.toContain("hunter2");
    expect(lines.map(({ fields }) => typeof fields["plan"])).toContain("string");
  });

  it("Parameters are logged on request, except those of columns with secret names", async () => {
    const { logger, queries } = recorder();
    const db = await openDatabase({ url: await place(), log_queries: { parameters: true } }, { logger });
    closing.push(() => db.close());
    await db.execute("create table people (id int, name text, password_hash text, info jsonb, photo bytea)");
    await db.execute("insert into people (id, name, password_hash, info, photo) values ($1, $2, $3, $4, $5)", [
      7,
      "Ada",
      "hunter2",
      { token: "hunter2" },
      Buffer.from("hunter2"),
    ]);
    await db.fetch("select * from people where name = $1 and id = any($2)", ["Ada", [7, 8]]);
    await db.fetch("select id from people where password_hash = $1 and id > $2", ["hunter2", 1]);
    expect(queries().map(({ fields }) => fields["parameters"])).toEqual([
      undefined,
      [7, "Ada", "[redacted]", "<json>", "<7 bytes>"],
      ["Ada", [7, 8]],
      ["[redacted]", 1],
    ]);
  });

  it("A slow statement is a warning, and with slowOnly others are not logged", async () => {
    const url = await place();
    const { logger, lines } = recorder();
    for (const slow of [600, 0]) {
      const db = await openDatabase({ url, logQueries: { slow, slowOnly: true } }, { logger });
      closing.push(() => db.close());
      await db.fetchval(`select ${slow}`);
    }
    await vi.waitFor(() => expect(lines).toHaveLength(1));
    expect(lines[0]).toMatchObject({ level: "warn", message: "slow query", fields: { rows: 1 } });
  });

  it("The duration of a statement is that of the call, and the wait for a connection is part of it", async () => {
    const { logger, queries } = recorder();
    const db = await openDatabase({ url: await place(), poolSize: 1, logQueries: everything }, { logger });
    closing.push(() => db.close());
    const releases: (() => void)[] = [];
    const held = db.session(() => new Promise<void>((resolve) => void releases.push(resolve)));
    await vi.waitFor(() => expect(releases).toHaveLength(1));
    const waiting = db.fetchval("select 1");
    await vi.waitFor(() => expect(db.stats().waiting).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 5));
    releases[0]!();
    await Promise.all([held, waiting]);
    const [{ fields }] = queries() as [Line];
    expect(fields["wait_ms"]).toBeGreaterThan(0);
    expect(fields["duration_ms"]).toBeGreaterThanOrEqual(fields["wait_ms"] as number);
  });

  it("The plan of a slow statement is logged once, and asking for it changes nothing", async () => {
    const { logger, queries } = recorder();
    const db = await openDatabase({ url: await place(), logQueries: { slow: 0, explain: true } }, { logger });
    closing.push(() => db.close());
    await db.execute("create table t (n int)");
    for (const n of [1, 2]) await db.execute("insert into t values ($1)", [n]);
    expect(await db.fetchval("select count(*) from t where n > $1", [0])).toBe(2);
    await vi.waitFor(() => expect(queries()).toHaveLength(4));
    const plans = queries().map(({ fields }) => fields["plan"]);
    expect(plans[0]).toBeUndefined();
    expect(plans.filter((plan) => String(plan).includes("Insert on t"))).toHaveLength(1);
    await vi.waitFor(() => expect(db.stats().inUse).toBe(0));
    expect(await db.fetchval("select count(*) from t")).toBe(2);
  });

  it("A failed statement has its error by class and SQLSTATE", async () => {
    const { logger, queries } = recorder();
    const db = await openDatabase({ url: await place(), logQueries: everything }, { logger });
    closing.push(() => db.close());
    await db.fetch("select * from missing").catch(() => {});
    expect(queries()[0]!.fields).toMatchObject({ error: "ProgrammingError (42P01)", rows: 0 });
  });

  it("A statement that many calls of one place repeat is named with the relation to load", async () => {
    const { app, get, lines } = await started(everything, (app) => {
      app.get("/writers", async () => {
        const list: number[] = [];
        for (const writer of await Writer.objects.orderBy("id")) list.push(await writer.poems.count());
        return list;
      });
      app.get("/poems", async () => {
        const names: string[] = [];
        for (const id of [1, 2, 3, 4, 5, 6]) {
          const poem = await Poem.objects.get({ id });
          names.push((await poem.writer).name);
        }
        return names;
      });
      app.get("/cured", async () => (await Poem.objects.selectRelated("writer")).length);
    });
    await createTables(app.database, [Writer, Poem]);
    for (let n = 1; n <= 6; n++) {
      const writer = await Writer.objects.create({ name: `writer ${n}` });
      await Poem.objects.create({ title: `poem ${n}`, writer });
    }
    lines.length = 0;
    expect(await get("/writers")).toBe("[1,1,1,1,1,1]");
    const found = (): Line[] => lines.filter(({ message }) => message.startsWith("the same statement"));
    await vi.waitFor(() => expect(found()).toHaveLength(1));
    expect(found()[0]).toMatchObject({
      level: "warn",
      message: "the same statement ran 6 times in one request",
      fields: { route: "/writers", cure: 'prefetchRelated("poems") in the query for Writer' },
    });
    expect(found()[0]!.fields["caller"]).toMatch(/query-log\.test\.ts:\d+$/);
    await get("/poems");
    await vi.waitFor(() => expect(found()).toHaveLength(3));
    expect(found().map(({ fields }) => fields["cure"])).toContain('selectRelated("writer") in the query for Poem');
    expect(found().map(({ fields }) => fields["cure"])).toContainEqual(expect.stringContaining("inBulk()"));
    await get("/cured");
    expect(found()).toHaveLength(3);
  });

  it("A statement that runs as often as the option repeated says is named, and with 0 none is", async () => {
    const named = async (repeated: number): Promise<() => number> => {
      const { get, lines } = await started({ repeated }, (app) => {
        app.get("/", async (request) => {
          for (let n = 0; n < 2; n++) await request.db.fetchval("select 1");
          return "done";
        });
      });
      expect(await get("/")).toBe("done");
      return () => lines.filter(({ message }) => message === "the same statement ran 2 times in one request").length;
    };
    const [never, later] = [await named(0), await named(3)];
    const once = await named(2);
    await vi.waitFor(() => expect(once()).toBe(1));
    expect([never(), later()]).toEqual([0, 0]);
  });

  it("The caller of an awaited queryset is the line of the application that awaits it", async () => {
    const { app, get, queries } = await started(everything, (app) => {
      app.get("/writers", async () => {
        const writers = await Writer.objects.filter({ name: "x" });
        return writers.length;
      });
    });
    await createTables(app.database, [Writer]);
    await get("/writers");
    expect(queries().at(-1)!.fields["caller"]).toMatch(/query-log\.test\.ts:\d+$/);
  });

  it("Nothing is recorded and no stack is read if the log is off", async () => {
    const { get, queries, app } = await started(undefined, (app) => {
      app.get("/", async (request) => request.db.fetchval("select 1"));
    });
    expect(callersAreWatched()).toBe(false);
    await get("/");
    expect(queries()).toEqual([]);
    await app.stop();
  });

  it("A log that is closed watches no callers any more", async () => {
    const db = await openDatabase({ url: await place(), logQueries: everything }, { logger: recorder().logger });
    expect(callersAreWatched()).toBe(true);
    await db.close();
    await db.close();
    expect(callersAreWatched()).toBe(false);
  });
});

describe("option logQueries", () => {
  it.each([
    [{ slov: 5 }, "unknown option 'slov' in logQueries; did you mean 'slow'?"],
    [{ slow_only: 1 }, "option 'slow_only' in logQueries must be true or false, not 1"],
    [{ slow: -1 }, "option 'slow' in logQueries must be a duration"],
    ["yes", "option 'logQueries' in DatabaseConfig must be true or false, or an object"],
  ])("The value %j of logQueries is refused when the database is enabled", (logQueries, message) => {
    expect(() => new App().enableDatabase({ url: "pglite:", logQueries: logQueries as never })).toThrow(message);
  });
});
