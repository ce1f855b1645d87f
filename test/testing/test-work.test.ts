import { App } from "stoa";
import { saga } from "stoa/saga";
import { rolledBack, testClient, testMessages, testWork } from "stoa/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { emptyDatabases } from "../engines/db/engines.js";
import { recorder } from "../patterns/events/stores.js";
import { service } from "../support/service.js";

const empty = emptyDatabases(service("postgres"));

/** Only a fault reaches this. */
const patient = { timeout: "150s" } as const;

async function started(setup: (app: App) => unknown): Promise<App> {
  const app = new App();
  app.enableDatabase(await empty());
  setup(app);
  await app.start();
  onTestFinished(() => app.stop());
  return app;
}

describe("work of an application under test", () => {
  it("Jobs are listed, run when they are due, and later ones after the time has passed", async () => {
    const ran: string[] = [];
    let mail!: ReturnType<typeof declare>;
    const declare = (app: App) =>
      app.job("mail", { retries: 3, backoff: "10m" }, (value: string, { attempt }) => {
        ran.push(`${value} ${attempt}`);
        if (value === "fails" && attempt === 1) throw new Error("no");
      });
    const app = await started((given) => {
      given.logger = recorder().logger;
      mail = declare(given);
      // In about half a year: no other step of this test comes near it, on any day.
      const month = new Date(Date.now() + 180 * 86_400_000).getUTCMonth() + 1;
      given.job("yearly", { schedule: `0 0 1 ${month} *` }, () => void ran.push("yearly"));
    });
    const work = testWork(app);
    await mail.enqueue("now");
    await mail.enqueue("fails");
    await mail.enqueue("tomorrow", { delay: "1d" });
    expect((await work.enqueued("mail")).map(({ value }) => value)).toEqual(["now", "fails", "tomorrow"]);
    await work.runDue(patient);
    expect(ran.splice(0).sort()).toEqual(["fails 1", "now 1"]);
    await work.runDue({ ...patient, after: "1h" });
    expect(ran.splice(0)).toEqual(["fails 2"]);
    await work.runDue({ ...patient, after: "1d" });
    expect(ran.splice(0)).toEqual(["tomorrow 1"]);
    await work.runDue({ ...patient, after: "366d" });
    expect(ran).toEqual(["yearly"]);
    expect((await work.enqueued("mail")).map(({ status }) => status)).toEqual(["done", "done", "done"]);
  });

  it("An application without work is told so, with the kinds of work that there are", async () => {
    const app = new App();
    onTestFinished(() => app.stop());
    await expect(testWork(app).runDue()).rejects.toThrow(
      "has no jobs, sagas, event store or outbox, and no testMessages(app)",
    );
  });

  it("Sagas go on until they wait, and a wait is over after its time", async () => {
    const steps: string[] = [];
    const definition = saga("trial")
      .step("open", { action: () => void steps.push("open") })
      .sleep("trial", "14d")
      .step("close", { action: () => void steps.push("close") });
    const app = await started((given) => void given.enableSaga());
    const id = await app.saga(definition).start({});
    const work = testWork(app);
    await work.runDue(patient);
    expect(steps).toEqual(["open"]);
    expect(await app.sagas.get(id)).toMatchObject({ status: "waiting" });
    await work.runDue({ ...patient, after: "14d" });
    expect(steps).toEqual(["open", "close"]);
    expect(await app.sagas.get(id)).toMatchObject({ status: "completed" });
  });

  it("Subscriptions, the outbox and handlers of messages have nothing left to do", async () => {
    const seen: unknown[] = [];
    const app = new App();
    app
      .enableDatabase(await empty())
      .enableEventSourcing()
      .enableMemoryBroker()
      .enableOutbox();
    const messages = testMessages(app);
    app.onMessage("placed", (message) => void seen.push(message.value));
    app.eventStore.subscribe(
      { name: "mirror" },
      async (event) => void (await app.outbox.publish("placed", event.data)),
    );
    await using client = await testClient(app).start();
    for (const n of [1, 2, 3]) await app.eventStore.append(`order-${n}`, [{ type: "Placed", data: { n } }]);
    await testWork(app).runDue(patient);
    expect(seen).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(messages.published("placed")).toHaveLength(3);
    expect(client).toBeDefined();
  });

  it("Work that does not end in time is named", async () => {
    let release = (): void => {};
    const blocked = new Promise<void>((resolve) => (release = resolve));
    let job!: { enqueue(value: null): Promise<string> };
    const app = await started((given) => (job = given.job("stuck", {}, () => blocked)));
    await job.enqueue(null);
    await expect(testWork(app).runDue({ timeout: "50ms" })).rejects.toThrow("not done after 0.05 s: job 'stuck'");
    release();
    await testWork(app).runDue(patient);
  });

  it("Jobs of a test that is rolled back run in its transaction, and none is left for the next test", async () => {
    const log = recorder();
    const ran: string[] = [];
    let mail!: { enqueue(value: string, options?: { delay?: "1d" }): Promise<string> };
    const app = await started((given) => {
      given.logger = log.logger;
      mail = given.job("mail", {}, async (value: string) => {
        await given.database.execute("insert into sent values ($1)", [value]);
        ran.push(value);
      });
    });
    await app.database.execute("create table sent (name text)");
    const work = testWork(app);
    for (const name of ["a", "b"]) {
      await rolledBack(app, async () => {
        await mail.enqueue(name);
        await app.database.transaction(() => mail.enqueue(`${name} of a transaction`));
        await mail.enqueue("later", { delay: "1d" });
        await work.runDue(patient);
        expect(await app.database.fetchval("select count(*)::int from sent")).toBe(2);
        // This one may be in progress at the end of the test.
        await mail.enqueue(`${name} at the end`);
      });
      expect(await app.database.fetchval("select count(*)::int from sent")).toBe(0);
      expect(await work.enqueued()).toEqual([]);
    }
    expect(ran).toEqual(expect.arrayContaining(["a", "a of a transaction", "b", "b of a transaction"]));
    expect(ran).not.toContain("later");
    expect(log.lines.filter((line) => /failed|another worker/.test(line))).toEqual([]);
  });
});
