import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { aptInstall } from "../../scripts/services/apt.mjs";

/** The first cores this process may use: one for the servers, one for the load, one for a database when there are three. */
export const cores = pickCores();

/** Throws with a clear message where the method cannot work. */
export async function prepareMachine() {
  if (process.platform !== "linux") throw new Error("the benchmark needs Linux: it reads /proc and pins processes");
  if (cores.load === undefined) throw new Error("the benchmark needs two cores: one for the server, one for the load");
  for (const [program, debian] of Object.entries({ wrk: "wrk", taskset: "util-linux" })) {
    if (existsSync(`/usr/bin/${program}`)) continue;
    await aptInstall([debian]).catch((error) => {
      throw new Error(`${program}: ${error.message}`);
    });
  }
}

export function describeMachine() {
  const wrk = execFileSync("sh", ["-c", "wrk -v 2>&1 || true"], { encoding: "utf8" });
  return {
    date: new Date().toISOString(),
    cpu: cpus()[0].model.trim(),
    cores: cpus().length,
    node: process.version,
    wrk: /wrk (?:debian\/)?(\S+)/.exec(wrk)?.[1] ?? "unknown",
  };
}

function pickCores() {
  if (process.platform !== "linux") return {};
  const list = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync("/proc/self/status", "utf8"))[1];
  const allowed = list.split(",").flatMap((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, n) => from + n);
  });
  return { server: allowed[0], load: allowed[1], database: allowed[2] ?? allowed[1] };
}
