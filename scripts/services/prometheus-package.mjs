import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { root, run } from "../process.mjs";

const kept = join(root, "node_modules", ".cache", "stoa");

/**
 * The path of a program from Debian's package of Prometheus: that of the machine, or one that is unpacked and kept. The
 * package is not installed.
 *
 * @param {"prometheus" | "promtool"} name
 * @param {{ folder: string, log: (line: string) => void }} place
 */
export async function prometheusProgram(name, { folder, log }) {
  const installed = `/usr/bin/${name}`;
  if (existsSync(installed)) return installed;
  const path = join(kept, name);
  if (existsSync(path)) return path;
  log(`fetching ${name} ...`);
  const unpacked = await unpackPackage(folder);
  await mkdir(kept, { recursive: true });
  // Under its name it is there whole or not at all; the folders may lie on different disks.
  await copyFile(join(unpacked, "usr", "bin", name), `${path}.${process.pid}`);
  await rename(`${path}.${process.pid}`, path);
  return path;
}

async function unpackPackage(folder) {
  if (!existsSync("/usr/bin/apt-get")) throw new Error("not installed, and this machine has no apt-get");
  let result = await run("apt-get", ["download", "prometheus"], { cwd: folder, timeout: 600_000 });
  if (result.code !== 0) {
    await run("apt-get", ["update"], { timeout: 600_000 });
    result = await run("apt-get", ["download", "prometheus"], { cwd: folder, timeout: 600_000 });
  }
  const archive = (await readdir(folder)).find((name) => name.endsWith(".deb"));
  if (!archive) throw new Error(`apt-get download prometheus failed: ${result.output.trim().split("\n").at(-1)}`);
  const unpacked = await run("dpkg-deb", ["-x", archive, "unpacked"], { cwd: folder });
  if (unpacked.code !== 0) throw new Error(`the package of Prometheus cannot be unpacked: ${unpacked.output.trim()}`);
  return join(folder, "unpacked");
}
