import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { root, run } from "../process.mjs";

const installed = "/usr/bin/promtool";
const kept = join(root, "node_modules", ".cache", "stoa", "promtool");

/** The judge of metrics, from Debian's package of Prometheus: a program to start, not a server. Unpacked, not installed. */
export default {
  name: "promtool",
  env: "STOA_TEST_PROMTOOL",
  async start({ folder, log }) {
    if (existsSync(installed)) return { value: installed };
    if (!existsSync(kept)) await fetchPromtool(folder, log);
    return { value: kept };
  },
};

async function fetchPromtool(folder, log) {
  if (!existsSync("/usr/bin/apt-get")) throw new Error("not installed, and this machine has no apt-get");
  log("fetching promtool ...");
  let result = await run("apt-get", ["download", "prometheus"], { cwd: folder, timeout: 600_000 });
  if (result.code !== 0) {
    await run("apt-get", ["update"], { timeout: 600_000 });
    result = await run("apt-get", ["download", "prometheus"], { cwd: folder, timeout: 600_000 });
  }
  const archive = (await readdir(folder)).find((name) => name.endsWith(".deb"));
  if (!archive) throw new Error(`apt-get download prometheus failed: ${result.output.trim().split("\n").at(-1)}`);
  const unpacked = await run("dpkg-deb", ["-x", archive, "unpacked"], { cwd: folder });
  if (unpacked.code !== 0) throw new Error(`the package of Prometheus cannot be unpacked: ${unpacked.output.trim()}`);
  await mkdir(join(kept, ".."), { recursive: true });
  // Under its name it is there whole or not at all; the folders may lie on different disks.
  await copyFile(join(folder, "unpacked", "usr", "bin", "promtool"), `${kept}.${process.pid}`);
  await rename(`${kept}.${process.pid}`, kept);
}
