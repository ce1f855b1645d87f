import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { bin, root, runNode } from "../../scripts/process.mjs";
import { endMarked, mark, markedProcesses } from "../../scripts/testing/leftovers.mjs";
import { progressLine } from "../../scripts/testing/progress-lines.mjs";
import { isLong } from "../support/long.js";

describe("processes that outlive a test run", () => {
  it("A process that a child of the run has started is found and ended, also if its parent is dead", async () => {
    const run = `test-${process.pid}`;
    const sleeper = `require("child_process").spawn(process.execPath, ["-e", "setTimeout(() => {}, 6e5)"], { detached: true, stdio: "ignore" }).unref()`;
    const parent = spawn(process.execPath, ["-e", sleeper], { env: { ...process.env, [mark]: run } });
    await once(parent, "exit");
    const found = markedProcesses(run);
    expect(found).toHaveLength(1);
    expect(found[0]!.command).toContain("setTimeout");
    expect(endMarked(run)).toEqual(found);
    await expect.poll(() => markedProcesses(run)).toEqual([]);
  });

  it("A process of another run is left alone", () => {
    expect(markedProcesses("no such run")).toEqual([]);
  });
});

describe("progress of a test run", () => {
  it("A line tells the time, what is done, and an estimate of the rest", () => {
    const counts = { files: 60, done: 15, weight: 80, weightDone: 10, tests: 400, failed: 1, running: ["a", "b"] };
    const other = { files: 40, done: 5, weight: 20, weightDone: 10, tests: 12, failed: 0, running: ["c"] };
    expect(progressLine([counts, other], 65)).toBe("1:05  20 of 100 files, 412 tests, 1 failed, about 4:20 left");
    const none = { files: 100, done: 0, weight: 100, weightDone: 0, tests: 0, failed: 0, running: [] };
    expect(progressLine([none], 3)).toBe("0:03  0 of 100 files, 0 tests, 0 failed");
    expect(progressLine([], 3)).toBe("0:03  0 of 0 files, 0 tests, 0 failed");
    const last = { files: 9, done: 8, weight: 2, weightDone: 1, tests: 1, failed: 0, running: ["a"] };
    expect(progressLine([last], 2)).toBe("0:02  8 of 9 files, 1 tests, 0 failed, about 0:02 left: a");
  });

  it.runIf(isLong)("A test that blocks its process ends the process and not the run, and is named", async () => {
    const folder = await mkdtemp(join(tmpdir(), "stoa-blocked-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    const imports = 'import { it } from "vitest";';
    await writeFile(
      join(folder, "blocked.test.ts"),
      `${imports} it("ends", () => {}); it("blocks", () => { for (;;); });`,
    );
    await writeFile(join(folder, "other.test.ts"), `${imports} it("ends", () => {});`);
    const reporter = `--reporter=${join(root, "scripts/testing/progress.mjs")}`;
    // Long enough for a busy machine to start a process meanwhile.
    const env = { ...process.env, STOA_TEST_SILENCE: "45" };
    const { code, output } = await runNode(bin.vitest, ["run", "--root", folder, reporter], { env });
    expect(code).toBe(1);
    expect(output).toContain("FAILED  no test has ended for 0:45; killed: blocked.test.ts");
  });
});
