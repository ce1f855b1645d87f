import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { App } from "../../../src/app/app.js";
import { saga } from "../../../src/patterns/saga/definition.js";
import { makeDatabase } from "../../engines/db/engines.js";
import { service } from "../../support/service.js";
import { quiet } from "../events/stores.js";

const server = service("postgres");
const patient = { timeoutMs: 60_000 };

describe.skipIf(!server)("a saga whose steps have changed under the same version", { timeout: 120_000 }, () => {
  let url: string;
  let drop: () => Promise<void>;
  const apps: App[] = [];
  let done: string[] = [];
  beforeEach(async () => {
    ({ url, drop } = await makeDatabase(server!));
    done = [];
  });
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.stop()));
    await drop();
  });

  /** A program whose saga has these steps. `pay` fails for as long as the program runs if `fails` is true. */
  const deploy = async (names: readonly string[], fails = false) => {
    const app = new App();
    app.logger = quiet;
    apps.push(app);
    app.enableDatabase({ url, poolSize: 5 });
    app.enableSaga({ backoff: "1ms", poll: "20ms", lease: "1s", timeoutMs: 0, unknownVersion: "300ms" });
    let definition = saga<null>("order");
    for (const name of names) {
      const action = (): void => {
        if (name === "pay" && fails) throw new Error("no");
        done.push(name);
      };
      const compensate = (): void => void done.push(`undo ${name}`);
      definition = definition.step(name, { action, compensate, retries: 1000 });
    }
    const handle = app.saga(definition);
    await app.start();
    const stop = async (): Promise<void> => {
      apps.splice(apps.indexOf(app), 1);
      await app.stop();
    };
    return { app, handle, stop };
  };
  /** Starts an execution that tries `pay` again and again, and ends its program. */
  const begun = async (names: readonly string[]): Promise<string> => {
    const first = await deploy(names, true);
    const id = await first.handle.start(null, { id: "one" });
    for (let log = 0; log === 0; ) {
      log = (await first.app.sagas.log(id)).filter(
        ({ event, step }) => event === "action failed" && step === "pay",
      ).length;
    }
    await first.stop();
    return id;
  };

  it("An execution whose first step is removed during its retries is parked, and does not ship without payment", async () => {
    const id = await begun(["pay", "ship"]);
    const { app, handle } = await deploy(["ship"]);
    const run = await handle.wait(id, patient);
    expect(run).toMatchObject({
      status: "parked",
      error: expect.stringContaining(
        'the steps of version 1 of the saga "order" are not those that it was started with',
      ),
    });
    expect(run!.error).toContain("step pay; step ship");
    expect(done).toEqual([]);
    await app.sagas.resume(id);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "completed" });
    expect(done).toEqual(["ship"]);
  });

  it("An execution goes on by itself when a program with its steps is back", async () => {
    const id = await begun(["reserve", "pay", "ship"]);
    const other = await deploy(["reserve", "check", "pay", "ship"]);
    expect(await other.handle.wait(id, patient)).toMatchObject({ status: "parked" });
    const { handle } = await deploy(["reserve", "pay", "ship"]);
    let status: string | undefined = "parked";
    while (status === "parked" || status === undefined) status = (await handle.wait(id, patient))?.status;
    expect(status).toBe("completed");
    expect(done).toEqual(["reserve", "pay", "ship"]);
  });

  it("An execution that is resumed runs the present steps that have no result, and each of them once", async () => {
    const id = await begun(["reserve", "pay", "ship"]);
    const { app, handle } = await deploy(["reserve", "check", "pay", "ship"]);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "parked" });
    await app.sagas.resume(id);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "completed" });
    expect(done).toEqual(["reserve", "check", "pay", "ship"]);
  });

  it("An execution is not resumed without a step that had an effect", async () => {
    const id = await begun(["reserve", "pay", "ship"]);
    const { app, handle } = await deploy(["pay", "ship"]);
    expect(await handle.wait(id, patient)).toMatchObject({ status: "parked" });
    await expect(app.sagas.resume(id)).rejects.toThrow('the present steps of the saga "order" lack reserve');
    expect(await app.sagas.get(id)).toMatchObject({ status: "parked" });
    await app.sagas.abort(id);
    expect(await app.sagas.get(id)).toMatchObject({ status: "aborted" });
  });
});
