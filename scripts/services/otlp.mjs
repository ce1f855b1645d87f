import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { root, run } from "../process.mjs";

const version = "1.45.2";
const kept = join(root, "node_modules", ".cache", "stoa", `otlp-messages-${version}`);

/**
 * The official messages of OTLP, from the Python package opentelemetry-proto: a second judge of what is exported. The
 * value is the Python that has them.
 */
export default {
  name: "otlp",
  env: "STOA_TEST_OTLP",
  async start({ log }) {
    const python = join(kept, "bin", "python");
    if (!existsSync(python)) await install(log);
    return { value: python };
  },
};

async function install(log) {
  log("installing opentelemetry-proto ...");
  await step("python3", ["-m", "venv", kept]);
  try {
    await step(join(kept, "bin", "pip"), ["install", "--quiet", `opentelemetry-proto==${version}`]);
  } catch (error) {
    // An environment without the package must not be taken for a whole one.
    await rename(kept, `${kept}.${process.pid}`);
    await rm(`${kept}.${process.pid}`, { recursive: true, force: true });
    throw error;
  }
}

async function step(program, args) {
  const result = await run(program, args, { timeout: 300_000 });
  if (result.code !== 0) throw new Error(`${program} failed: ${result.output.trim().split("\n").at(-1)}`);
}
