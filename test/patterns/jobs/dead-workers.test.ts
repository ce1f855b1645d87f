import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { App } from "../../../src/app/app.js";
import { engines } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const patient = { timeout: 20_000, interval: 10 };

describe.each(engines(service("postgres")))("jobs that dead workers have left in $name", (engine) => {
  let app: App;
  let drop: () => Promise<void>;
  let ran = 0;
  const numbers: number[] = [];
  beforeAll(async () => {
    const made = await engine.make();
    drop = made.drop;
    app = new App();
    app.logger = quiet;
    app.enableDatabase({ url: made.url, poolSize: 5 }).enableJobs({ poll: "50ms" });
    app.job("deadly", { retries: 2, maxLost: 3 }, () => void ran++);
    app.job("failing", { retries: 2, backoff: "1ms" }, (_value, { attempt }) => {
      numbers.push(attempt);
      throw new Error("no");
    });
    app.job("lucky", {}, () => {});
    await app.start();
  });
  afterAll(async () => {
    await app.stop();
    await drop();
  });

  /** A job as a worker leaves it that has died: claimed, and its lease is over. */
  const left = (lost: number, cancel: boolean, name = "deadly"): Promise<string | null> =>
    app.database.fetchval<string>(
      `insert into stoa.jobs (name, value, attempts, lost, cancel, owner, token, lease_until)
       values ($3, 'null', $1 + 1, $1, $2, 'a dead worker', 1, clock_timestamp() - interval '1 second') returning id::text`,
      [lost, cancel, name],
    );
  const ended = (id: string | null) =>
    vi.waitFor(async () => {
      const job = await app.jobs.get(id!);
      expect(job?.finishedAt).not.toBeNull();
      return job;
    }, patient);

  it("A job that ends its process each time is not run forever", async () => {
    expect(await ended(await left(3, false))).toMatchObject({ status: "failed", error: "the job did not end" });
    expect(ran).toBe(0);
    expect(await ended(await left(2, false))).toMatchObject({ status: "done", attempts: 4 });
    expect(ran).toBe(1);
  });

  it("Workers that died use up no retries of a job that has not failed itself", async () => {
    const job = await ended(await left(1, false, "failing"));
    expect(job).toMatchObject({ status: "failed", error: "Error: no", attempts: 5 });
    expect(numbers).toEqual([3, 4, 5]);
    expect(await app.jobs.retry(job!.id)).toBe(true);
    await vi.waitFor(() => expect(numbers).toEqual([3, 4, 5, 1, 2, 3]), patient);
  });

  it("A job that was lost several times is begun after a pause, which is no attempt", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const id = await left(7, false, "lucky");
    await vi.waitFor(async () => {
      const job = await app.jobs.get(id!);
      expect(job).toMatchObject({ error: "the worker of the job was lost 8 times", attempts: 8, running: false });
      expect(job!.runAt.getTime() - job!.startedAt!.getTime()).toBeGreaterThan(60_000);
    }, patient);
    vi.mocked(Math.random).mockRestore();
    await app.database.execute("update stoa.jobs set run_at = clock_timestamp() where id = $1", [id]);
    expect(await ended(id)).toMatchObject({ status: "done", attempts: 9, error: null });
  });

  it("A job whose worker died after its end was asked for is cancelled", async () => {
    ran = 0;
    expect(await ended(await left(1, true))).toMatchObject({ status: "cancelled", error: null });
    expect(ran).toBe(0);
  });
});
