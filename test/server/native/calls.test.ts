import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { packageFolder } from "../../../src/kit/package-folder.js";
import { onEachEngine } from "../support.js";

const program = fileURLToPath(new URL("./fixtures/calls.mjs", import.meta.url));
const isLong = process.env["STOA_LONG"] === "1";

/** Runs the program; resolves to the reason of its failure, or to null. */
function run(addon: string, args: readonly unknown[], env: Record<string, string> = {}): Promise<string | null> {
  return new Promise((resolve) => {
    const all = ["--expose-gc", program, addon, ...args.map(String)];
    execFile(process.execPath, all, { env: { ...process.env, ...env } }, (error, _, output) => {
      resolve(error === null ? null : `${error.signal ?? error.code} ${output}`);
    });
  });
}

/** The library that must be loaded before Node for an addon with sanitizers; null where there is none. */
function sanitizer(): string | null {
  try {
    const found = execFileSync("cc", ["-print-file-name=libasan.so"], { encoding: "utf8" }).trim();
    return existsSync(found) ? found : null;
  } catch {
    return null;
  }
}

onEachEngine("calls of the native addon with %s", (_factory, engine) => {
  const addon = join(packageFolder(), `native/build/wire-${process.platform}-${process.arch}.node`);

  it("Calls in any order and with any arguments never end the process", async () => {
    for (let seed = 1; seed <= 3; seed++) expect(await run(addon, [engine, seed, 300])).toBeNull();
  });

  it.skipIf(!isLong || sanitizer() === null)(
    "Calls in any order touch no memory that is not theirs",
    { timeout: 1_800_000 },
    async () => {
      const { buildNative } = await import(`${packageFolder()}/native/build.mjs`);
      const folder = mkdtempSync(join(tmpdir(), "stoa-native-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];
      const checked = await buildNative({ out: join(folder, "wire.node"), flags, again: true });
      // Leaks are those of Node.
      const env = { LD_PRELOAD: sanitizer()!, ASAN_OPTIONS: "detect_leaks=0" };
      for (let seed = 1; seed <= 20; seed++) expect(await run(checked, [engine, seed, 2000], env)).toBeNull();
    },
  );
});
