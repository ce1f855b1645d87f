import { App } from "stoa";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { livePanels } from "../../src/console/panels.js";
import { saga } from "../../src/patterns/saga/definition.js";
import { StepRefused } from "../../src/patterns/saga/steps.js";
import { send } from "../batteries/wire.js";
import { emptyDatabases } from "../engines/db/engines.js";
import { quiet } from "../patterns/events/stores.js";
import { service } from "../support/service.js";

const empty = emptyDatabases(service("postgres"));

const patient = { timeout: 25_000, interval: 20 };
const json = { "content-type": "application/json" };

describe("the pages for operators of sagas and jobs", () => {
  let app: App;
  let server: TestServer;
  let guarded = 0;
  const stuck = saga("stuck")
    .step("a", { action: () => 1, compensate: () => Promise.reject(new Error("away")), compensateRetries: 0 })
    .parallel({ b: { action: () => 2 }, c: { action: () => 3 } })
    .step("d", { action: () => Promise.reject(new StepRefused("no")) });
  beforeAll(async () => {
    app = new App();
    app.logger = quiet;
    const guard = (request: { headers: { get(name: string): string | null | undefined } }): boolean => {
      guarded++;
      return request.headers.get("x-operator") === "yes";
    };
    app
      .enableDatabase(await empty())
      .enableMetrics()
      .enableHealthChecks()
      .enableSaga({ poll: "50ms", admin: { guards: [guard] } })
      .enableJobs({ poll: "50ms", admin: { path: "/ops/jobs/", guards: [guard] } });
    app.saga(stuck);
    app.job("fails", { retries: 0 }, () => Promise.reject(new Error("broken")));
    app.job("later", {}, () => {});
    server = await serve(app, { debug: false });
  }, 240_000);
  afterAll(() => server?.close());
  const get = async (path: string) => {
    const response = await send(server.url, path, { headers: { "x-operator": "yes" } });
    return { status: response.status, body: JSON.parse(response.text) as never };
  };
  const act = async (path: string, body: unknown, headers: Record<string, string> = json): Promise<number> => {
    const options = { method: "POST", headers: { "x-operator": "yes", ...headers }, body: JSON.stringify(body) };
    return (await send(server.url, `${path}/act`, options)).status;
  };
  const parked = async (): Promise<string> => {
    const id = await app.sagas.start(stuck, null);
    await vi.waitFor(async () => expect((await app.sagas.get(id))?.status).toBe("parked"), patient);
    return id;
  };

  it("Every page and call asks the guard first", async () => {
    for (const path of [
      "/_sagas",
      "/_sagas/list",
      "/_sagas/view",
      "/_sagas/detail?id=1",
      "/ops/jobs",
      "/ops/jobs/list",
    ]) {
      expect((await send(server.url, path)).status, path).toBe(403);
    }
    const before = guarded;
    const refused = await send(server.url, "/_sagas/act", { method: "POST", headers: json, body: "{}" });
    expect([refused.status, guarded]).toEqual([403, before + 1]);
  });

  it("Without guards the pages are refused outside of development, and are for this machine in development", async () => {
    const open = async (): Promise<App> => {
      const one = new App();
      one.logger = quiet;
      return one.enableDatabase(await empty()).enableSaga({ admin: {} });
    };
    await expect(serve(await open(), { debug: false })).rejects.toThrow("needs guards outside of development");
    await using local = await serve(await open(), { debug: true });
    expect((await send(local.url, "/_sagas")).status).toBe(200);
    expect((await send(local.url, "/_sagas", { headers: { host: "evil.example" } })).status).toBe(403);
    for (const call of ["list", "view", "detail?id=1"]) {
      const headers = { "sec-fetch-site": "cross-site" };
      expect((await send(local.url, `/_sagas/${call}`, { headers })).status, call).toBe(403);
    }
    expect(() => new App().enableSaga({ admin: { guard: [] } as never })).toThrow("did you mean 'guards'?");
    expect(() => new App().enableJobs({ admin: { path: "x" } })).toThrow("a path that begins with '/'");
  });

  it("Sagas are listed by status, name and page, and shown with their plan and log", async () => {
    const ids = [await parked(), await parked()];
    const list = await get("/_sagas/list?status=parked&name=stuck");
    expect(list).toMatchObject({ status: 200, body: { items: [{ id: ids[1] }, { id: ids[0] }], next: null } });
    expect(await get("/_sagas/list?name=nobody")).toMatchObject({ body: { items: [] } });
    expect(await get("/_sagas/list?status=strange")).toMatchObject({ status: 400 });
    expect(await get("/_sagas/list?before=strange")).toMatchObject({ status: 400 });
    expect(await get(`/_sagas/list?before=${ids[1]}&name=stuck`)).toMatchObject({ body: { items: [{ id: ids[0] }] } });
    const detail = await get(`/_sagas/detail?id=${ids[0]}`);
    expect(detail).toMatchObject({
      status: 200,
      body: {
        saga: { id: ids[0], status: "parked" },
        plan: [{ name: "a" }, { name: "b", group: 1 }, { name: "c" }, {}],
      },
    });
    expect(JSON.stringify(detail.body)).toContain("compensation started");
    expect(await get("/_sagas/detail?id=nobody")).toMatchObject({ status: 404 });
  });

  it("Pages of sagas that were created in one moment show each of them once", async () => {
    const total = 120;
    await app.database.execute(
      `insert into stoa.sagas (id, name, version, status, input, created_at, finished_at)
       select 'same-' || n, 'same', 1, 'completed', 'null', now() + n / 60 * interval '1 microsecond', now()
       from generate_series(1, $1::int) n`,
      [total],
    );
    const seen: string[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const { body } = (await get(`/_sagas/list?name=same&before=${next}`)) as unknown as {
        body: { items: { id: string }[]; next: string | null };
      };
      seen.push(...body.items.map(({ id }) => id));
      next = body.next;
    }
    expect([seen.length, new Set(seen).size]).toEqual([total, total]);
    await expect(app.sagas.list({ limit: 0 })).rejects.toThrow("option 'limit' in sagas.list()");
    await expect(app.sagas.list({ name: "" })).rejects.toThrow("a string of at least 1 character");
    const two = await app.sagas.list({ name: "same", limit: 2 });
    expect((await app.sagas.list({ name: "same", limit: 1, before: two[0]!.id }))[0]!.id).toBe(two[1]!.id);
    expect(await app.sagas.list({ name: "same", before: new Date(0) })).toEqual([]);
    await expect(app.sagas.list({ before: 7 as never })).rejects.toThrow("a Date or the id of a saga");
    await expect(app.sagas.list({ before: "gone" })).rejects.toThrow('there is no saga with the id "gone"');
  });

  it("Pages of jobs show each of them once, the newest first", async () => {
    const added = await app.database.fetch<{ id: string }>(
      "insert into stoa.jobs (name, value, run_at) select 'later', 'null', 'infinity' from generate_series(1, 12) returning id::text",
    );
    const shown: string[] = [];
    for (let page = 1; page <= 3; page++) {
      const found = await app.jobs.list({ name: "later", limit: 4, before: shown.at(-1) });
      shown.push(...found.map(({ id }) => id));
    }
    const newest = added.map(({ id }) => id).reverse();
    expect(shown).toEqual(newest);
    await app.database.execute("delete from stoa.jobs where name = 'later'");
  });

  it("Ids and names with U+0000 are refused with 400 by pages, and found nowhere by calls", async () => {
    for (const path of ["/_sagas", "/ops/jobs"]) {
      for (const part of ["detail?id=%00", "view?id=%00", "list?name=a%00b", "list?status=%00", "list?before=%00"]) {
        expect((await get(`${path}/${part}`)).status, `${path}/${part}`).toBe(400);
      }
      for (const id of ["\0", "\ud800"])
        expect(await act(path, { id, action: path === "/_sagas" ? "abort" : "cancel" })).toBe(400);
    }
    expect([await app.sagas.get("\0"), await app.sagas.log("\ud800"), await app.sagas.children("\0")]).toEqual([
      null,
      [],
      [],
    ]);
    await expect(app.sagas.abort("\0")).rejects.toThrow("there is no saga with the id");
    await expect(app.sagas.signal("\0", "go")).rejects.toThrow("there is no saga with the id");
    await expect(app.sagas.start(stuck, null, { id: "\ud800" })).rejects.toThrow("option 'id' in start() must be");
    await expect(app.jobs.list({ name: "\0" })).rejects.toThrow("option 'name'");
    expect(await app.jobs.get("\0")).toBeNull();
  });

  it("A parked saga is resumed, skipped and aborted by calls, and no call comes from another site", async () => {
    const id = await parked();
    expect(await act("/_sagas", { id, action: "skip" }, { ...json, origin: "https://evil.example" })).toBe(403);
    expect(await act("/_sagas", { id, action: "skip" }, { "content-type": "text/plain" })).toBe(400);
    expect(await act("/_sagas", { id, action: "explode" })).toBe(400);
    expect(await act("/_sagas", { id, action: "resume" })).toBe(200);
    await vi.waitFor(async () => {
      const resumed = (await app.sagas.log(id)).filter(({ event }) => event === "parked");
      expect(resumed).toHaveLength(2);
    }, patient);
    expect(await act("/_sagas", { id, action: "skip" })).toBe(200);
    await vi.waitFor(async () => expect((await app.sagas.get(id))?.status).toBe("compensated"), patient);
    expect(await act("/_sagas", { id, action: "abort" })).toBe(400);
  });

  it("Jobs are listed, shown, retried and cancelled", async () => {
    const { jobs } = app;
    const [failing, later] = await app.database.fetch<{ id: string }>(
      `insert into stoa.jobs (name, value, run_at) values ('fails', '1', clock_timestamp()), ('later', '{"x": 1}', 'infinity')
       returning id::text`,
    );
    await vi.waitFor(async () => expect((await jobs.get(failing!.id))?.status).toBe("failed"), patient);
    const list = await get("/ops/jobs/list?status=failed");
    expect(list).toMatchObject({ body: { items: [{ id: failing!.id, error: "Error: broken" }] } });
    expect(await get("/ops/jobs/list?before=1")).toMatchObject({ body: { items: [] } });
    expect(await get("/ops/jobs/list?before=x")).toMatchObject({ status: 400 });
    expect(await get(`/ops/jobs/detail?id=${later!.id}`)).toMatchObject({ body: { job: { value: { x: 1 } } } });
    expect(await act("/ops/jobs", { id: failing!.id, action: "retry" })).toBe(200);
    expect(await act("/ops/jobs", { id: later!.id, action: "cancel" })).toBe(200);
    expect(await act("/ops/jobs", { id: later!.id, action: "cancel" })).toBe(400);
    expect(await jobs.get(later!.id)).toMatchObject({ status: "cancelled" });
  });

  it("Metrics, health and the live page show the counts of sagas and jobs", async () => {
    await parked();
    const metrics = (await send(server.url, "/metrics")).text;
    expect(metrics).toMatch(/sagas_open\{status="parked"\} [1-9]/);
    expect(metrics).toMatch(/sagas_oldest_due_seconds \d/);
    expect(metrics).toMatch(/jobs\{status="failed"\} \d/);
    expect(metrics).toMatch(/jobs_oldest_due_seconds \d/);
    const health = JSON.parse((await send(server.url, "/health")).text) as {
      checks: Record<string, { status: string }>;
    };
    expect([health.checks["sagas"]!.status, health.checks["jobs"]!.status]).toEqual(["DEGRADED", "UP"]);
    const panels = await livePanels(hostOf(app)).read();
    expect(panels).toMatchObject([
      { title: "Leases" },
      { title: "Sagas", link: { href: "/_sagas" } },
      {
        title: "Jobs",
        facts: [{ label: "Waiting", value: expect.any(Number) }, {}, {}, {}],
        link: { href: "/ops/jobs" },
      },
    ]);
  });

  it("The page names its style and its script by hash, and can load nothing else", async () => {
    const page = await send(server.url, "/_sagas", { headers: { "x-operator": "yes" } });
    expect(page.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; script-src 'sha256-[\w+/=]+'; connect-src 'self';/,
    );
    expect(page.text).not.toMatch(/\sstyle="|@import|url\(/);
    expect(page.get("cache-control")).toBe("no-store");
  });
});
