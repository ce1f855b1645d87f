import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { root, run } from "../process.mjs";

/**
 * A Python with these packages, in a folder that is kept for the next time. Resolves to the path of the program.
 *
 * @param {string} folder
 * @param {string[]} packages
 * @param {(line: string) => void} log
 */
export async function pythonWith(folder, packages, log) {
  const kept = join(root, "node_modules", ".cache", "stoa", folder);
  const python = join(kept, "bin", "python");
  if (existsSync(python)) return python;
  log(`installing ${packages.join(", ")} ...`);
  await step("python3", ["-m", "venv", kept]);
  try {
    await step(join(kept, "bin", "pip"), ["install", "--quiet", ...packages]);
  } catch (error) {
    // An environment without the packages must not be taken for a whole one.
    await rename(kept, `${kept}.${process.pid}`);
    await rm(`${kept}.${process.pid}`, { recursive: true, force: true });
    throw error;
  }
  return python;
}

async function step(program, args) {
  const result = await run(program, args, { timeout: 300_000 });
  if (result.code !== 0) throw new Error(`${program} failed: ${result.output.trim().split("\n").at(-1)}`);
}
