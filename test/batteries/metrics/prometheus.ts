import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { get, until } from "../../server/process/program.js";

export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Prometheus {
  /** The series of an instant query, by the HTTP API. */
  query(expression: string): Promise<Series[]>;
  /** The lines that the server has logged. */
  output(): string;
}

/**
 * Starts a Prometheus server that scrapes one application until the test ends. Each of its jobs keeps a connection of its
 * own to the same port, so the connections belong to different workers.
 */
export async function startPrometheus(program: string, target: string, jobs: readonly string[]): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-prometheus-"));
  // JSON is valid YAML.
  const config = join(folder, "prometheus.json");
  const scraped = { scrape_interval: "500ms", scrape_timeout: "500ms" };
  const static_configs = [{ targets: [new URL(target).host] }];
  const scrape_configs = jobs.map((job_name) => ({ job_name, ...scraped, static_configs }));
  await writeFile(config, JSON.stringify({ scrape_configs }));
  const address = `127.0.0.1:${await freePort()}`;
  const options = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, "data")}`];
  const child = spawn(program, [...options, `--web.listen-address=${address}`], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
  }
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const isReady = (): Promise<boolean> =>
    get(`http://${address}/-/ready`).then(
      ({ status }) => status === 200,
      () => child.exitCode !== null,
    );
  await until(isReady, () => `Prometheus:\n${text}`);
  return {
    output: () => text,
    query: async (expression) => {
      const response = await get(`http://${address}/api/v1/query?query=${encodeURIComponent(expression)}`);
      const { status, data, error } = JSON.parse(response.text) as QueryResponse;
      if (status !== "success") throw new Error(`${expression}: ${error}`);
      return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
  };
}

interface QueryResponse {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly result: readonly { readonly metric: Record<string, string>; readonly value: readonly [number, string] }[];
  };
}
