import { readdir, readFile } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Family, MergeRule } from "./family.js";
import { label } from "./names.js";

/** Milliseconds between two looks at the event loop. */
const resolution = 10;

/**
 * Metrics of the process, under the names that dashboards for Node.js know (those of prom-client). With several
 * workers, sums are shown where they make sense, otherwise the worst value.
 */
export class ProcessMetrics {
  readonly #delay = monitorEventLoopDelay({ resolution });
  #utilization = performance.eventLoopUtilization();
  #maxFds: Promise<number | undefined> | null = null;

  start(): void {
    this.#delay.enable();
  }

  stop(): void {
    this.#delay.disable();
  }

  async collect(): Promise<Family[]> {
    const { user, system } = process.cpuUsage();
    const memory = process.memoryUsage();
    const openFds = await countOpenFds();
    const maxFds = await (this.#maxFds ??= readMaxFds());
    return [
      counter("process_cpu_user_seconds_total", "User CPU time spent, in seconds.", user / 1e6),
      counter("process_cpu_system_seconds_total", "System CPU time spent, in seconds.", system / 1e6),
      counter("process_cpu_seconds_total", "User and system CPU time spent, in seconds.", (user + system) / 1e6),
      gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.", startTime(), "min"),
      gauge("process_resident_memory_bytes", "Resident memory, in bytes.", memory.rss),
      ...(openFds === undefined ? [] : [gauge("process_open_fds", "Open file descriptors.", openFds)]),
      ...(maxFds === undefined ? [] : [gauge("process_max_fds", "File descriptors that may be open.", maxFds)]),
      gauge("nodejs_heap_size_total_bytes", "Size of the heap, in bytes.", memory.heapTotal),
      gauge("nodejs_heap_size_used_bytes", "Used size of the heap, in bytes.", memory.heapUsed),
      gauge("nodejs_external_memory_bytes", "Memory outside of the heap, in bytes.", memory.external),
      ...this.#eventLoop(),
      { ...gauge("nodejs_version_info", "Version of Node.js.", 1, "first"), samples: [[versionLabels, 1]] },
    ];
  }

  /** Since the last time. */
  #eventLoop(): Family[] {
    const delay = this.#delay;
    // The time between two looks is measured; the delay is the part beyond the interval.
    const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - resolution) / 1000;
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#utilization);
    this.#utilization = now;
    const about = (what: string): string => `Delay of the event loop since the last scrape, ${what}, in seconds.`;
    // Before the first look the mean is no number.
    const [mean, max] = delay.count === 0 ? [0, 0] : [delay.mean, delay.max];
    const families = [
      gauge("nodejs_eventloop_lag_mean_seconds", about("mean"), seconds(mean), "mean"),
      gauge("nodejs_eventloop_lag_max_seconds", about("maximum"), seconds(max), "max"),
      ...[50, 90, 99].map((percentile) => {
        const value = delay.count === 0 ? 0 : delay.percentile(percentile);
        return gauge(
          `nodejs_eventloop_lag_p${percentile}_seconds`,
          about(`${percentile}th percentile`),
          seconds(value),
          "max",
        );
      }),
      gauge("nodejs_eventloop_utilization_ratio", "Share of time the event loop was busy.", utilization, "max"),
    ];
    delay.reset();
    return families;
  }
}

function counter(name: string, help: string, value: number): Family {
  return { name, help, type: "counter", merge: "sum", samples: [["", value]] };
}

function gauge(name: string, help: string, value: number, merge: MergeRule = "sum"): Family {
  return { name, help, type: "gauge", merge, samples: [["", value]] };
}

function startTime(): number {
  return Math.round(performance.timeOrigin) / 1000;
}

const [major, minor, patch] = process.versions.node.split(".");
const versionLabels = `{${[
  label("version", process.version),
  label("major", major),
  label("minor", minor),
  label("patch", patch),
].join(",")}}`;

/** Available on Linux only. */
async function countOpenFds(): Promise<number | undefined> {
  try {
    // Reading the folder takes a descriptor too.
    return (await readdir("/proc/self/fd")).length - 1;
  } catch {
    return undefined;
  }
}

async function readMaxFds(): Promise<number | undefined> {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(await readFile("/proc/self/limits", "utf8"));
    return found ? Number(found[1]) : undefined;
  } catch {
    return undefined;
  }
}
