import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { patient, until } from "../../server/process/program.js";
import { service } from "../../support/service.js";
import { serverOfTest } from "../kvstore/redis-servers.js";
import { count, Machine } from "./shop.js";

describe("a machine whose key-value store is absent", patient, () => {
  let machine: Machine;
  beforeAll(async () => {
    machine = await Machine.start({ STORE: `redis://127.0.0.1:${await freePort()}`, PREFIX: "test:" });
  });
  afterAll(() => machine.kill());

  it("The workers allow exactly the limit together, because their supervisor counts", async () => {
    const replies = await machine.load("/many", 700);
    expect([count(replies, 200), count(replies, 429)]).toEqual([500, 200]);
  });

  it("A killed worker is replaced", () => isReplaced(machine));
});

describe.skipIf(!service("redis"))("a machine whose key-value store goes away", patient, () => {
  it.each(["SIGKILL", "SIGSTOP"] as const)("A killed worker is replaced after %s of the store", async (signal) => {
    const store = await serverOfTest();
    const machine = await Machine.start({ STORE: store.url, PREFIX: "test:" });
    onTestFinished(() => machine.kill());
    await store.kill(signal);
    await isReplaced(machine);
  });
});

async function isReplaced(machine: Machine): Promise<void> {
  const [victim] = await machine.pids();
  process.kill(Number(victim), "SIGKILL");
  await until(async () => {
    const pids = await machine.pids();
    return pids.length === 2 && !pids.includes(victim!);
  });
}
