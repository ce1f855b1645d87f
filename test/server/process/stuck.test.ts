import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isLong } from "../../support/long.js";
import { get, isAlive, Program, patient, respondingWorkers, until } from "./program.js";

const twoWorkers = ["--workers", "2"];

describe("a stuck process", patient, () => {
  it.each(["/endless", "/expression"])(
    "A stuck worker is killed and replaced, and the log names the place (%s)",
    async (path) => {
      const program = new Program({ args: twoWorkers, options: { stuckTimeout: 1 } });
      const url = await program.url();
      const pids = await respondingWorkers(url, 2);
      const lost = get(url + path).catch((error: Error) => error);
      const line = JSON.parse((await program.shows(/^.*ran no turn of its event loop.*$/m))[0]);
      expect(line.msg).toBe(`worker ${line.pid} ran no turn of its event loop for 1 s, at ${line.at}; it is killed`);
      expect(line.at).toMatch(/^.+ \(\/.*\/[^/]+\.mjs:[\d:]+\)$/);
      expect(line.stack[0]).toBe(line.at);
      expect(await lost).toBeInstanceOf(Error);
      const others = pids.filter((pid) => pid !== String(line.pid));
      expect(others).toHaveLength(1);
      expect(await respondingWorkers(url, 2, [String(line.pid)])).toContain(others[0]);
    },
  );

  it("A stuck process without a supervisor is killed too, and standard error names the place", async () => {
    const program = new Program({ options: { stuckTimeout: 1 }, compile: false });
    get(`${await program.url()}/endless`).catch(() => {});
    expect(await program.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(program.stderr).toMatch(
      /^stoa: the process \d+ ran no turn of its event loop for 1 s, at .+ \(.*target\.ts:[\d:]+\); it is killed\n$/,
    );
  });

  it("A process that was stuck for a while stops as usual by SIGTERM afterwards", async () => {
    const program = new Program({ options: { stuckTimeout: 1000, shutdownTimeout: 4 } });
    const url = await program.url();
    await get(`${url}/block?ms=2500`);
    expect((await get(`${url}/pid`)).text).toBe(String(program.child.pid));
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it("A SIGTERM that comes while a process is busy for longer than a quarter of its time to stop ends it as usual afterwards", async () => {
    const program = new Program({ options: { stuckTimeout: 1000, shutdownTimeout: 8 } });
    const url = await program.url();
    // The thread listens from its first tick on.
    await get(`${url}/block?ms=1500`);
    const busy = get(`${url}/block?ms=5000`);
    await program.shows(/block begins/, 2);
    program.child.kill("SIGTERM");
    expect((await busy).status).toBe(200);
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stderr).not.toContain("Deprecation");
  });

  it("A process that is stuck while it stops is killed when its time to stop is over", async () => {
    const program = new Program({
      options: { stuckTimeout: 1000, shutdownTimeout: 1 },
      env: { FAULT: "shutdown is stuck" },
    });
    await program.url();
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("A stuck supervisor is killed, and its workers end", async () => {
    const program = new Program({
      args: twoWorkers,
      options: { stuckTimeout: 1 },
      env: { FAULT: "supervisor is stuck" },
    });
    expect(await program.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(program.stderr).toMatch(/ran no turn of its event loop for 1 s/);
    const pids = [...program.stdout.matchAll(/^startup (\d+)$/gm)].map((match) => match[1]!);
    expect(pids).toHaveLength(2);
    await until(() => pids.every((pid) => !isAlive(pid)));
  });

  it("A stuck worker does not outlive its supervisor", async () => {
    const program = new Program({ args: twoWorkers, options: { shutdownTimeout: 1, stuckTimeout: 1000 } });
    const url = await program.url();
    const pids = await respondingWorkers(url, 2);
    get(`${url}/endless`).catch(() => {});
    await program.shows(/block begins/);
    program.child.kill("SIGKILL");
    await until(() => pids.every((pid) => !isAlive(pid)));
  });

  it("A worker that is stuck in its start does not outlive its supervisor", async () => {
    const program = new Program({
      args: twoWorkers,
      options: { shutdownTimeout: 1 },
      env: { FAULT: "startup is stuck" },
    });
    await program.shows(/^startup \d+$/m, 2);
    const pids = [...program.stdout.matchAll(/^startup (\d+)$/gm)].map((match) => match[1]!);
    program.child.kill("SIGKILL");
    await until(() => pids.every((pid) => !isAlive(pid)));
  });

  it("A busy worker that still runs turns of its event loop is not killed", async () => {
    const program = new Program({ args: twoWorkers, options: { stuckTimeout: 2 } });
    const url = await program.url();
    const { status, text } = await get(`${url}/busy?slices=20`);
    expect(status).toBe(200);
    expect(isAlive(text)).toBe(true);
    expect(program.stdout).not.toContain("ran no turn");
  });

  it("A blocked process that was started with --inspect is not killed", async () => {
    const program = new Program({ node: ["--inspect=0"], options: { stuckTimeout: 0.5 } });
    const url = await program.url();
    expect(await get(`${url}/block?ms=1500`)).toMatchObject({ status: 200, text: "unblocked" });
  });

  it("The readiness of the other workers shows a stuck worker as long as it does not respond", async () => {
    const file = new URL("./fixtures/health-program.ts", import.meta.url).pathname;
    const program = new Program({ file, args: twoWorkers });
    const url = await program.url();
    const pids = await respondingWorkers(url, 2);
    const workers = async () => JSON.parse((await get(`${url}/health/ready`)).text).checks.workers;
    // Once it is stopped, the other one responds to all, but for one connection that was handed over already.
    process.kill(Number(pids[0]), "SIGSTOP");
    const shown = new Set<string>();
    const ask = () =>
      workers().then(
        (check) => shown.add(`${check.status} ${check.message ?? ""}`),
        () => {},
      );
    await until(() => {
      void ask();
      return shown.has("DEGRADED 1 worker does not respond");
    });
    process.kill(Number(pids[0]), "SIGCONT");
    shown.clear();
    await until(() => ask().then(() => shown.has("UP ")));
    expect((await respondingWorkers(url, 2)).toSorted()).toEqual(pids.toSorted());
  });
});

// A thread hears signals up to Node.js 22. On newer versions a single process that is stuck ends by its limit.
if (Number(process.versions.node.split(".")[0]) < 23) {
  describe("SIGTERM to a stuck process whose thread hears signals", patient, () => {
    it.each(isLong ? ["/endless", "/expression"] : ["/expression"])(
      "SIGTERM ends a single process that has been stuck for a quarter of its time to stop (%s)",
      async (path) => {
        const program = new Program({ options: { stuckTimeout: 1000, shutdownTimeout: 4 } });
        get((await program.url()) + path).catch(() => {});
        await program.shows(/block begins/);
        await until(() => !catchesSigterm(program.child.pid!));
        program.child.kill("SIGTERM");
        expect(await program.exited).toEqual({ code: null, signal: "SIGTERM" });
      },
    );

    it("A single process that is stuck and does not recover is killed when the time to stop is over after an early SIGTERM", async () => {
      const program = new Program({ options: { stuckTimeout: 1000, shutdownTimeout: 2 } });
      const url = await program.url();
      // The thread runs when it has taken the listeners of the main thread away. It listens from its next tick on, each second.
      const unblocked = get(`${url}/block?ms=5000`);
      await until(() => !catchesSigterm(program.child.pid!));
      await unblocked;
      await get(`${url}/slow?ms=2500`);
      get(`${url}/endless`).catch(() => {});
      await program.shows(/block begins/, 2);
      program.child.kill("SIGTERM");
      expect(await program.exited).toEqual({ code: null, signal: "SIGKILL" });
    });
  });
} else {
  describe("SIGTERM to a stuck process whose thread hears no signals", patient, () => {
    it.each(["/endless", "/expression"])(
      "A single process that is stuck when SIGTERM comes keeps its handlers and ends by its limit (%s)",
      async (path) => {
        const program = new Program({ options: { stuckTimeout: 4, shutdownTimeout: 4 } });
        get((await program.url()) + path).catch(() => {});
        await program.shows(/block begins/);
        program.child.kill("SIGTERM");
        expect(await program.exited).toEqual({ code: null, signal: "SIGKILL" });
        expect(program.stderr).toMatch(/ran no turn of its event loop for 4 s/);
      },
    );
  });
}

/** True if a process has a handler of SIGTERM: bit 14 of the mask that Linux shows. */
function catchesSigterm(pid: number): boolean {
  const [, mask = ""] = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return ((BigInt(`0x${mask}`) >> 14n) & 1n) === 1n;
}
