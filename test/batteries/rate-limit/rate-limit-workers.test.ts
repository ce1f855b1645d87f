import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { get, Program, patient, until } from "../../server/process/program.js";

const file = fileURLToPath(new URL("./fixtures/limited.ts", import.meta.url));

describe("a rate limit over two workers", patient, () => {
  it("A rate limit holds in each of two workers, and the log says so once", async () => {
    const program = new Program({ file, args: ["--workers", "2"] });
    const url = await program.url();
    const pids = new Set<string>();
    await until(async () => pids.add((await get(`${url}/pid`)).text).size === 2);
    const allowed = new Map<number, number>();
    // Which worker a connection goes to is the system's choice: ask until both have given all they may.
    await until(async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => get(url)));
      for (const { status, text } of answers) {
        if (status === 429) continue;
        const { pid } = JSON.parse(text) as { pid: number };
        allowed.set(pid, (allowed.get(pid) ?? 0) + 1);
      }
      return [...allowed.values()].reduce((sum, count) => sum + count, 0) >= 10;
    });
    expect([...allowed.values()]).toEqual([5, 5]);
    const after = await Promise.all(Array.from({ length: 10 }, () => get(url)));
    expect(after.every(({ status }) => status === 429)).toBe(true);
    const log = program.stdout + program.stderr;
    expect(log.match(/each of the 2 workers has its own counts of the rate limit/g)).toHaveLength(1);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });
});
