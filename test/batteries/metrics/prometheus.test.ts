import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { get, Program, patient, until } from "../../server/process/program.js";
import { service } from "../../support/service.js";
import { startPrometheus } from "./prometheus.js";
import { sample } from "./scrape.js";

const program = service("prometheus");
/** With each of these connections going to one of two workers, all go to the same worker in one of 128 runs. */
const jobs = ["a", "b", "c", "d", "e", "f", "g", "h"];
const file = fileURLToPath(new URL("./fixtures/program.ts", import.meta.url));

describe.skipIf(!program)("a real Prometheus", patient, () => {
  it("Prometheus reads the sum over all workers through one port, each series once", async () => {
    const workers = new Program({ file, args: ["--workers", "2"] });
    const url = await workers.url();
    const responses = new Map<string, number>();
    await until(async () => {
      const { status, text } = await get(`${url}/pid`);
      expect(status).toBe(200);
      responses.set(text, (responses.get(text) ?? 0) + 1);
      return responses.size === 2 && responses.get(text)! >= 20;
    });
    const total = [...responses.values()].reduce((sum, count) => sum + count, 0);

    await until(async () => sample((await get(`${url}/metrics`)).text, "jobs_total") === total);

    const prometheus = await startPrometheus(program!, url, jobs);
    const scrapes = 'count_over_time(framework_http_requests_total{path="/pid"}[1h])';
    await until(async () => {
      const counts = await prometheus.query(scrapes);
      return counts.length === jobs.length && counts.every(({ value }) => value >= 3);
    });
    const biggest = Math.max(...[...responses.keys()].map(Number));
    for (const [series, value] of [
      ["jobs_total", total],
      ["framework_http_requests_total{path='/pid'}", total],
      ["framework_http_request_duration_seconds_count{path='/pid'}", total],
      ["biggest", biggest],
    ] as const) {
      // One series for each job, and no scrape ever showed a part of the workers or one of them twice.
      for (const reading of ["min_over_time", "max_over_time", "last_over_time"]) {
        const read = await prometheus.query(`${reading}(${series}[1h])`);
        expect(read.map(({ labels }) => labels["job"]).sort(), series).toEqual(jobs);
        expect(new Set(read.map((each) => each.value)), `${reading} of ${series}`).toEqual(new Set([value]));
      }
    }
    // The number of samples in the text equals that of different series, so no series is there twice.
    const repeated = 'scrape_samples_scraped - on(job) count by (job) ({job!="", __name__!~"up|scrape_.*"})';
    await until(async () => {
      const differences = await prometheus.query(repeated);
      return differences.length === jobs.length && differences.every(({ value }) => value === 0);
    });
    expect(prometheus.output()).not.toMatch(/duplicate|out of order|append failed/i);
  });
});
