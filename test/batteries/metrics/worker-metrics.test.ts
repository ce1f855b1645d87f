import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Family } from "../../../src/batteries/metrics/family.js";
import { mergeFamilies } from "../../../src/batteries/metrics/family.js";
import { WorkerMetrics } from "../../../src/batteries/metrics/worker-metrics.js";
import type { WorkerChannel } from "../../../src/server/worker-channel.js";
import { get, Program, patient, until } from "../../server/process/program.js";
import { sample } from "./scrape.js";

const file = fileURLToPath(new URL("./fixtures/program.ts", import.meta.url));
const answered = 'framework_http_requests_total{method="GET",status="200",path="/pid"}';

describe("the metrics of several workers", patient, () => {
  it("are one: a scrape of any of them tells of all, to the last request", async () => {
    const program = new Program({ file, args: ["--workers", "2"] });
    const url = await program.url();
    const seen = await ask(url, (each) => each.size === 2 && total(each) >= 60);
    const pids = [...seen.keys()].map(Number);
    for (let i = 0; i < 6; i++) {
      const { text } = await get(`${url}/metrics`);
      expect(sample(text, answered)).toBe(total(seen));
      expect(sample(text, "jobs_total")).toBe(total(seen));
      expect(sample(text, 'framework_http_request_duration_seconds_count{method="GET",path="/pid"}')).toBe(total(seen));
      expect(sample(text, "biggest")).toBe(Math.max(...pids));
    }
  });

  it("do not fall when a worker dies, with or without notice, nor when the one does that remembered", async () => {
    const program = new Program({ file, args: ["--workers", "2"] });
    const url = await program.url();
    const scraped = async (): Promise<number | undefined> => sample((await get(`${url}/metrics`)).text, answered);
    const first = await ask(url, (seen) => seen.size === 2 && total(seen) >= 20);
    expect(await scraped()).toBe(total(first));

    await get(`${url}/die`).catch(() => {});
    const second = await ask(url, (seen) => seen.size === 2 && [...seen.keys()].some((pid) => !first.has(pid)));
    expect(await scraped()).toBe(total(first) + total(second));

    const oldest = [...first.keys()].find((pid) => second.has(pid)) as string;
    process.kill(Number(oldest), "SIGTERM");
    const third = await ask(url, (seen) => [...seen.keys()].filter((pid) => pid !== oldest).length === 2);
    for (let i = 0; i < 4; i++) expect(await scraped()).toBe(total(first) + total(second) + total(third));
  });
});

describe("asking the others", () => {
  it("is not waited for longer than allowed: who is silent is taken at its last word, who is dead at its counts", async () => {
    const house = new House();
    const a = house.worker(1, { count: 5 });
    house.worker(2, { count: 7, gauge: 3 });
    expect(await values(a)).toEqual({ n_total: 12, g: 3 });
    house.silent.add(2);
    expect(await values(a)).toEqual({ n_total: 12, g: 3 });
    house.dead.add(2);
    expect(await values(a)).toEqual({ n_total: 12, g: 0 });
  });

  it("is done once more for all who want to know while it is being done, and tells them what happened meanwhile", async () => {
    const house = new House();
    const count = { count: 1 };
    const a = house.worker(1, count);
    house.worker(2, { count: 1 });
    const first = values(a);
    count.count = 10;
    const later = [values(a), values(a), values(a)];
    expect((await first)["n_total"]).toBe(2);
    for (const each of await Promise.all(later)) expect(each["n_total"]).toBe(11);
    expect(house.published.filter(({ ask }) => ask !== undefined)).toHaveLength(2);
  });

  it("brings what JSON cannot hold back as no number", async () => {
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
  ] as const)("by %s", (rule, expected) => {
    expect(mergeFamilies([family(rule, 1), family(rule, 2), family(rule, 3)])[0]!.samples).toEqual([["", expected]]);
  });
});

/** Several workers in one process: each has the number of a process, and the channel carries JSON. */
class House {
  readonly bus = new EventEmitter();
  readonly dead = new Set<number>();
  readonly silent = new Set<number>();
  readonly published: { ask?: string }[] = [];

  worker(pid: number, values: { count?: number; gauge?: number }): WorkerMetrics {
    const collect = async (): Promise<Family[]> => [
      { name: "n_total", help: "", type: "counter", merge: "sum", samples: [["", values.count ?? 0]] },
      { name: "g", help: "", type: "gauge", merge: "sum", samples: [["", values.gauge ?? 0]] },
    ];
    const channel: WorkerChannel = {
      open: true,
      publish: async (_, data) => {
        if (this.silent.has(pid) || this.dead.has(pid)) return;
        this.published.push(data as object);
        this.bus.emit("said", pid, JSON.stringify({ ...(data as object), pid }));
      },
      subscribe: (_, listener) => {
        this.bus.on("said", (from: number, text: string) => from !== pid && listener(JSON.parse(text)));
        return () => {};
      },
    };
    const isAlive = (other: number): boolean => !this.dead.has(other);
    const worker = new WorkerMetrics({ channel, collect, workers: 2, patience: 30, isAlive });
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
