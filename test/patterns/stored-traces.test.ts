import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App, hostOf } from "../../src/app/app.js";
import type { RecordedSpan } from "../../src/batteries/telemetry/trace/recorded-span.js";
import { Sampler } from "../../src/batteries/telemetry/trace/sampler.js";
import { TelemetryTracer } from "../../src/batteries/telemetry/trace/tracer.js";
import { installTables } from "../../src/durable/tables.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import type { Span } from "../../src/kit/tracer.js";
import { JobStorage } from "../../src/patterns/jobs/storage.js";
import { jobTables } from "../../src/patterns/jobs/tables.js";
import { saga } from "../../src/patterns/saga/definition.js";
import { StepRefused } from "../../src/patterns/saga/steps.js";
import { SagaStorage } from "../../src/patterns/saga/storage.js";
import { sagaTables } from "../../src/patterns/saga/tables.js";
import { engines } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { quiet } from "./events/stores.js";

const patient = { timeout: 20_000, interval: 10 };
const consumer = 5;
const producer = 4;

describe.each(engines(service("postgres")))("traces of jobs and sagas in $name", (engine) => {
  const ended: RecordedSpan[] = [];
  const tracer = new TelemetryTracer({
    sampler: new Sampler({ rate: 1, parentBased: true }),
    limits: { attributes: 128, events: 128, links: 128, valueLength: 1000 },
    propagation: { traceContext: true, baggage: true },
    scope: { name: "test" } as never,
    record: (span) => void ended.push(span),
    flush: async () => {},
  });
  const app = new App();
  let drop: () => Promise<void>;
  const seen: unknown[] = [];
  let failures = 0;
  const mail = app.job<number>("mail", { backoff: "1ms" }, (value) => {
    seen.push([value, tracer.current?.traceId, tracer.baggage]);
    if (failures-- > 0) throw new Error("not yet");
  });
  const part = saga("part").step("pack", { action: () => true, compensate: () => true });
  const order = saga("order")
    .step("pay", { action: () => true, compensate: () => true })
    .child("part", part, null)
    .step("ship", { action: () => Promise.reject(new StepRefused("no truck")) });
  const orders = app.saga(order);
  beforeAll(async () => {
    const made = await engine.make();
    drop = made.drop;
    app.logger = quiet;
    app.enableDatabase({ url: made.url, poolSize: 5 }).enableJobs({ poll: "50ms" }).enableSaga({ poll: "50ms" });
    hostOf(app).tracer = tracer;
    await app.start();
  });
  afterAll(async () => {
    await app.stop();
    await drop();
  });
  const within = <T>(run: (span: Span) => T): T => tracer.span("request", run);
  const named = (name: string, traceId: string) =>
    ended.filter((span) => span.name === name && span.traceId === traceId);
  const finished = (id: string) =>
    vi.waitFor(async () => expect((await app.jobs.get(id))?.status).toBe("done"), patient);

  it("Each attempt of a job is a child of the span that has enqueued it, with its baggage", async () => {
    failures = 1;
    const { id, traceId, spanId } = await tracer.withBaggage({ user: "ada" }, () =>
      within(async (span) => ({ id: await mail.enqueue(1), traceId: span.traceId, spanId: span.spanId })),
    );
    await finished(id);
    const [added] = named("enqueue mail", traceId);
    expect(added).toMatchObject({ kind: producer, parentId: spanId });
    const attempts = await vi.waitFor(() => {
      const found = named("job mail", traceId);
      expect(found).toHaveLength(2);
      return found;
    }, patient);
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ kind: consumer, parentId: added!.spanId, parentRemote: true });
      expect(attempt.attributes).toEqual(expect.arrayContaining(["messaging.message.id", id, "stoa.job.attempt"]));
    }
    expect(added!.attributes).toEqual(expect.arrayContaining(["messaging.message.id", id]));
    expect(seen).toContainEqual([1, traceId, { user: "ada" }]);
  });

  it("Jobs that share a statement, have a key or a transaction are each in their own trace", async () => {
    const enqueue = (value: number, options?: { readonly key?: string }) =>
      within(async (span) => ({ id: await mail.enqueue(value, options), traceId: span.traceId, value }));
    const added = await Promise.all([enqueue(10), enqueue(11), enqueue(12, { key: "one" })]);
    added.push(await app.database.transaction(() => enqueue(13)));
    for (const { id, value, traceId } of added) {
      await finished(id);
      expect(seen).toContainEqual([value, traceId, {}]);
    }
    expect(new Set(added.map(({ traceId }) => traceId)).size).toBe(4);
  });

  it("A job without a stored trace begins one", async () => {
    await app.database.execute(
      `insert into stoa.jobs (name, value, trace) values ('mail', '20', null), ('mail', '21', '[7]')`,
    );
    await vi.waitFor(() => {
      for (const value of [20, 21]) expect(seen).toContainEqual([value, expect.stringMatching(/^[0-9a-f]{32}$/), {}]);
    }, patient);
  });

  it("The steps, compensations and children of a saga are in the trace that has started it", async () => {
    const { id, traceId, spanId } = await within(async (span) => ({
      id: await orders.start(null),
      traceId: span.traceId,
      spanId: span.spanId,
    }));
    expect(await orders.wait(id, { timeoutMs: 20_000 })).toMatchObject({ status: "compensated" });
    const [started] = named("start order", traceId);
    expect(started).toMatchObject({ kind: producer, parentId: spanId });
    for (const name of ["order pay", "part pack", "order ship", "part undo pack", "order undo pay"]) {
      const spans = named(`saga ${name}`, traceId);
      expect(spans, name).toHaveLength(1);
      expect(spans[0]).toMatchObject({ kind: consumer, parentId: started!.spanId, parentRemote: true });
    }
  });

  it("Tables of the version before keep their jobs and sagas, which continue without a trace", async () => {
    const { url, drop } = await engine.make();
    const db = await openDatabase(url);
    for (const set of [jobTables, sagaTables]) {
      await installTables(db, "stoa", { ...set, versions: set.versions.slice(0, 1) });
    }
    await db.execute(`insert into stoa.jobs (name, value) values ('old', '1')`);
    await db.execute(`insert into stoa.sagas (id, name, version, input) values ('old', 'old', 1, '1')`);
    for (const set of [jobTables, sagaTables]) await installTables(db, "stoa", set);
    expect(await new JobStorage(db, "stoa", "me", 1000).claim("old", 5)).toMatchObject([{ value: 1, trace: null }]);
    const claimed = await new SagaStorage(db, "stoa", "me", 1000).claim(
      [{ name: "old", version: 1, steps: "step a" }],
      5,
    );
    expect(claimed).toMatchObject([{ id: "old", trace: null }]);
    await db.close();
    await drop();
  });
});
