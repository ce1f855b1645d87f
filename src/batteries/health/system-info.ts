import { nodeOs } from "../../kit/node-modules.js";

/** The machine and the process, in a few numbers. */
export function systemInfo(): Record<string, unknown> {
  const { arch, availableParallelism, freemem, hostname, loadavg, platform, totalmem } = nodeOs();
  const { rss, heapUsed, heapTotal } = process.memoryUsage();
  return {
    hostname: hostname(),
    platform: platform(),
    arch: arch(),
    node_version: process.version,
    pid: process.pid,
    cpus: availableParallelism(),
    load_average: loadavg(),
    memory: {
      rss_bytes: rss,
      heap_used_bytes: heapUsed,
      heap_total_bytes: heapTotal,
      system_total_bytes: totalmem(),
      system_free_bytes: freemem(),
    },
  };
}
