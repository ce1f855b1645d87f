import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Family } from "../../../src/batteries/metrics/family.js";
import { mergeFamilies } from "../../../src/batteries/metrics/family.js";
import { WorkerMetrics } from "../../../src/batteries/metrics/worker-metrics.js";
import type { WorkerChannel } from "../../../src/server/process/worker-channel.js";
import { get, Program, patient, until } from "../../server/process/program.js";
import { sample } from "./scrape.js";

const file = fileURLToPath(new URL("./fixtures/program.ts", import.meta.url));
const answered = 'framework_http_requests_total{method="GET",status="200",path="/pid"}';

describe("the metrics of several workers", patient, () => {
  it("A scrape of any worker shows the requests of all workers", async () => {
    const program = new Program({ file, args: ["--workers", "2"] });
    const url = await program.url();
    const seen = await ask(url, (each) => each.size === 2 && total(each) >= 60);
    const pids = [...seen.keys()].map(Number);
    await until(async () => sample((await get(`${url}/metrics`)).text, answered) === total(seen));
    for (let i = 0; i < 6; i++) {
      const { text } = await get(`${url}/metrics`);
      expect(sample(text, answered)).toBe(total(seen));
      expect(sample(text, "jobs_total")).toBe(total(seen));
      expect(sample(text, 'framework_http_request_duration_seconds_count{method="GET",path="/pid"}')).toBe(total(seen));
      expect(sample(text, "biggest")).toBe(Math.max(...pids));
    }
  });

  it("The metrics do not decrease when a worker dies, with or without notice", async () => {
    const program = new Program({ file, args: ["--workers", "2"] });
    const url = await program.url();
    const scraped = async (): Promise<number | undefined> => sample((await get(`${url}/metrics`)).text, answered);
    const first = await ask(url, (seen) => seen.size === 2 && total(seen) >= 20);
    await until(async () => (await scraped()) === total(first));

    await get(`${url}/die`).catch(() => {});
    const second = await ask(url, (seen) => seen.size === 2 && [...seen.keys()].some((pid) => !first.has(pid)));
    await until(async () => (await scraped()) === total(first) + total(second));

    const oldest = [...first.keys()].find((pid) => second.has(pid)) as string;
    process.kill(Number(oldest), "SIGTERM");
    const third = await ask(url, (seen) => [...seen.keys()].filter((pid) => pid !== oldest).length === 2);
    await until(async () => (await scraped()) === total(first) + total(second) + total(third));
    for (let i = 0; i < 4; i++) expect(await scraped()).toBe(total(first) + total(second) + total(third));
  });
});

describe("a round of questions to the other workers", () => {
  it("A scrape waits for a bounded time, and uses the last metrics of a silent worker and the counters of a dead one", async () => {
    const house = new House();
    const a = house.worker(1, { count: 5 });
    house.worker(2, { count: 7, gauge: 3 });
    expect(await values(a)).toEqual({ n_total: 12, g: 3 });
    house.silent.add(2);
    house.time += 1000;
    expect(await values(a)).toEqual({ n_total: 12, g: 3 });
    house.dead.add(2);
    house.time += 5000;
    expect(await values(a)).toEqual({ n_total: 12, g: 0 });
  });

  it("Workers are asked once a second, whichever is scraped, and all show the same meanwhile", async () => {
    const house = new House();
    const counts = [{ count: 1 }, { count: 1 }];
    const [a, b] = counts.map((count, index) => house.worker(index + 1, count)) as [WorkerMetrics, WorkerMetrics];
    const scrape = async (): Promise<unknown[]> => [(await values(a))["n_total"], (await values(b))["n_total"]];
    const asked = (): number => house.published.filter(({ ask }) => ask !== undefined).length;
    expect(await Promise.all([values(a), values(a)])).toEqual(Array(2).fill({ n_total: 2, g: 0 }));
    for (const count of counts) count.count = 10;
    for (let i = 0; i < 20; i++) expect(await scrape()).toEqual([2, 2]);
    expect(asked()).toBe(1);
    house.time += 1000;
    for (let i = 0; i < 20; i++) expect(await scrape()).toEqual([20, 20]);
    expect(asked()).toBe(2);
  });

  it("Workers are asked again only after five seconds if one of them was silent", async () => {
    const house = new House();
    const a = house.worker(1, {});
    house.worker(2, {});
    house.silent.add(2);
    const asked = (): number => house.published.filter(({ ask }) => ask !== undefined).length;
    for (let second = 0; second < 10; second++) {
      await values(a);
      house.time += 1000;
    }
    expect(asked()).toBe(2);
  });

  it("Nothing is sent while the last message is still queued, and nobody waits for it", async () => {
    const house = new House();
    const a = house.worker(1, {});
    house.stuck.add(1);
    for (let i = 0; i < 3; i++) {
      await values(a);
      house.time += 10_000;
    }
    expect(house.published).toHaveLength(1);
  });

  it("Numbers that JSON cannot express are restored as NaN", async () => {
    const house = new House();
    const a = house.worker(1, {});
    house.worker(2, { gauge: Number.NaN });
    expect((await values(a))["g"]).toBeNaN();
  });
});

describe("merging", () => {
  const family = (merge: Family["merge"], value: number): Family[] => [
    { name: "x", help: "", type: "gauge", merge, samples: [["", value]] },
  ];

  it.each([
    ["sum", 6],
    ["max", 3],
    ["min", 1],
    ["mean", 2],
    ["first", 1],
  ] as const)("Metrics of workers are merged by %s", (rule, expected) => {
    expect(mergeFamilies([family(rule, 1), family(rule, 2), family(rule, 3)])[0]!.samples).toEqual([["", expected]]);
  });
});

/** Several workers in one process: each has the number of a process, and the channel carries JSON. */
class House {
  readonly bus = new EventEmitter();
  readonly dead = new Set<number>();
  readonly silent = new Set<number>();
  /** Workers whose messages are never on their way. */
  readonly stuck = new Set<number>();
  time = 0;
  readonly published: { ask?: string }[] = [];

  worker(pid: number, values: { count?: number; gauge?: number }): WorkerMetrics {
    const collect = async (): Promise<Family[]> => [
      { name: "n_total", help: "", type: "counter", merge: "sum", samples: [["", values.count ?? 0]] },
      { name: "g", help: "", type: "gauge", merge: "sum", samples: [["", values.gauge ?? 0]] },
    ];
    const channel: WorkerChannel = {
      open: true,
      publish: async (_, data) => {
        if (this.silent.has(pid) || this.dead.has(pid)) return undefined;
        this.published.push(data as object);
        if (this.stuck.has(pid)) return new Promise(() => {});
        this.bus.emit("said", pid, JSON.stringify({ ...(data as object), pid }));
        return undefined;
      },
      subscribe: (_, listener) => {
        this.bus.on("said", (from: number, text: string) => from !== pid && listener(JSON.parse(text)));
        return () => {};
      },
    };
    const isAlive = (other: number): boolean => !this.dead.has(other);
    const clock = (): number => this.time;
    const worker = new WorkerMetrics({ channel, collect, workers: 2, patience: 30, isAlive, clock });
    worker.start();
    return worker;
  }
}

async function values(worker: WorkerMetrics): Promise<Record<string, number>> {
  return Object.fromEntries((await worker.gather()).map(({ name, samples }) => [name, samples[0]![1]]));
}

type Seen = ReadonlyMap<string, number>;

/** Sends requests until it is enough; how often each worker answered. */
async function ask(url: string, enough: (seen: Seen) => boolean): Promise<Seen> {
  const seen = new Map<string, number>();
  await until(async () => {
    const answer = await get(`${url}/pid`).catch(() => null);
    if (answer?.status === 200) seen.set(answer.text, (seen.get(answer.text) ?? 0) + 1);
    return enough(seen);
  });
  return seen;
}

function total(seen: Seen): number {
  return [...seen.values()].reduce((sum, each) => sum + each, 0);
}
