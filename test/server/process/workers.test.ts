import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { get, isAlive, Program, type ProgramOptions, patient, respondingWorkers, until } from "./program.js";

function workers(count: number, options: ProgramOptions = {}): Program {
  return new Program({ ...options, args: ["--workers", String(count), ...(options.args ?? [])] });
}

describe("workers", patient, () => {
  it("Workers serve one address in several processes, with hooks in each and none in the supervisor", async () => {
    const program = workers(2);
    const url = await program.url();
    const pids = await respondingWorkers(url, 2);
    expect(pids).not.toContain(String(program.child.pid));
    await program.shows(/running/, 3);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
    for (const hook of ["startup", "shutdown"]) {
      const ran = [...program.stdout.matchAll(new RegExp(`^${hook} (\\d+)$`, "gm"))].map((match) => match[1]);
      expect(ran.toSorted()).toEqual(pids.toSorted());
    }
    expect(program.stdout.match(/Stoa is listening/g)).toHaveLength(1);
    expect(program.stdout).toContain(`2 (supervisor pid ${program.child.pid})`);
    expect(program.stderr).toBe("");
  });

  it("Production starts one worker per CPU", async () => {
    const program = new Program({ args: ["--env=production"] });
    const line = JSON.parse((await program.shows(/^\{"level":"info".*$/m))[0]);
    const { availableParallelism } = await import("node:os");
    expect(line).toMatchObject({ workers: availableParallelism(), env: "production" });
  });

  it("A killed worker is replaced while the others serve nearly everything", async () => {
    const program = workers(2);
    const url = await program.url();
    const [victim, other] = await respondingWorkers(url, 2);
    let failures = 0;
    process.kill(Number(victim), "SIGKILL");
    for (let i = 0; i < 100; i++) await get(url).catch(() => failures++);
    expect(failures).toBeLessThanOrEqual(2);
    await program.shows(/was ended by SIGKILL while it ran GET \/pid; another takes its place/);
    const pids = await respondingWorkers(url, 2, [victim!]);
    expect(pids).toContain(other);
  });

  it("Workers that are all killed at once are replaced, on the same port", async () => {
    const program = workers(2);
    const url = await program.url();
    const victims = await respondingWorkers(url, 2);
    for (const victim of victims) process.kill(Number(victim), "SIGKILL");
    expect(await respondingWorkers(url, 2, victims)).toHaveLength(2);
  });

  it("Workers that run out of heap are replaced", async () => {
    const program = workers(2, { node: ["--max-old-space-size=60"] });
    const url = await program.url();
    const pids = await respondingWorkers(url, 2);
    await get(`${url}/heap`).catch(() => {});
    await until(() => pids.some((worker) => !isAlive(worker)));
    const dead = pids.filter((worker) => !isAlive(worker));
    expect(dead).toHaveLength(1);
    expect(await respondingWorkers(url, 2, dead)).toContain(pids.find((worker) => !dead.includes(worker)));
  });

  it("A worker is replaced as soon as an uncaught error makes it drain", async () => {
    const program = workers(2);
    const url = await program.url();
    await respondingWorkers(url, 2);
    const slow = Promise.all([get(`${url}/slow?ms=1000`), get(`${url}/slow?ms=1000`)]);
    await program.shows(/slow begins/, 2);
    await get(`${url}/throw`);
    await program.shows(/^startup \d+$/m, 3);
    for (const answer of await slow) expect(answer.status).toBe(200);
    expect(program.stdout).toMatch(/worker \d+ leaves; another takes its place/);
  });

  it("Workers that keep dying of uncaught errors are replaced forever, and no other connection is lost", async () => {
    const program = workers(2, { env: { FAULT: "startup is slow" } });
    const url = await program.url();
    await respondingWorkers(url, 2);
    let running = true;
    const failures: unknown[] = [];
    const client = async (): Promise<void> => {
      while (running) await get(url).catch((error) => failures.push(error));
    };
    const clients = [client(), client(), client(), client()];
    await until(async () => {
      expect(await get(`${url}/throw`)).toMatchObject({ status: 200 });
      return program.stdout.split("leaves; another takes its place").length > 8;
    });
    running = false;
    await Promise.all(clients);
    expect(failures).toEqual([]);
    expect(program.child.exitCode).toBeNull();
  });

  it("Workers that never start stop the server with one reason", async () => {
    const program = workers(2, { env: { FAULT: "startup exits" } });
    expect(await program.exited).toEqual({ code: 1, signal: null });
    expect(program.stderr).toBe("stoa: workers keep dying soon after their start; the last one exited with code 3\n");
  });

  it("Workers respond to requests in flight when the server is stopped", async () => {
    const program = workers(2);
    const url = await program.url();
    const answers = Promise.all(Array.from({ length: 10 }, () => get(`${url}/slow?ms=700`)));
    await program.shows(/slow begins/, 10);
    program.child.kill("SIGTERM");
    for (const answer of await answers) expect(answer).toMatchObject({ status: 200, connection: "close" });
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it("Workers drain once if all processes get a signal, however often", async () => {
    const program = workers(2);
    const url = await program.url();
    const pids = await respondingWorkers(url, 2);
    const answers = Promise.all([get(`${url}/slow?ms=700`), get(`${url}/slow?ms=700`)]);
    await program.shows(/slow begins/, 2);
    for (const worker of pids) {
      process.kill(Number(worker), "SIGINT");
      process.kill(Number(worker), "SIGTERM");
      process.kill(Number(worker), "SIGINT");
    }
    program.child.kill("SIGINT");
    for (const answer of await answers) expect(answer.status).toBe(200);
    expect(await program.exited, program.report()).toEqual({ code: 0, signal: null });
    expect(program.stderr).toBe("");
  });

  it("Workers are not replaced if one signal stops them and their supervisor", async () => {
    const program = workers(2, { group: true });
    const pids = await respondingWorkers(await program.url(), 2);
    process.kill(-program.child.pid!, "SIGTERM");
    expect(await program.exited, program.report()).toEqual({ code: 0, signal: null });
    expect(program.stdout.match(/^startup \d+$/gm)).toHaveLength(pids.length);
    expect(program.stdout).not.toContain("takes its place");
    expect(program.stderr).toBe("");
  });

  it("Workers are not replaced if a signal stops them shortly before their supervisor", async () => {
    const program = workers(2);
    const pids = await respondingWorkers(await program.url(), 2);
    for (const worker of pids) process.kill(Number(worker), "SIGTERM");
    await program.shows(/drain begins/, 2);
    program.child.kill("SIGTERM");
    expect(await program.exited, program.report()).toEqual({ code: 0, signal: null });
    expect(program.stdout.match(/^startup \d+$/gm)).toHaveLength(2);
    expect(program.stdout).not.toContain("takes its place");
  });

  it("A worker that a signal stops alone is replaced", async () => {
    const program = workers(2);
    const url = await program.url();
    const [victim] = await respondingWorkers(url, 2);
    process.kill(Number(victim), "SIGTERM");
    await program.shows(/was told to stop; another takes its place/);
    expect(await respondingWorkers(url, 2, [victim!])).toHaveLength(2);
  });

  it("A second signal kills the workers", async () => {
    const program = workers(2, { options: { shutdownTimeout: 60 } });
    const url = await program.url();
    const pids = await respondingWorkers(url, 2);
    get(`${url}/slow?ms=30000`).catch(() => {});
    await program.shows(/slow begins/);
    program.child.kill("SIGTERM");
    await program.shows(/drain begins/);
    // One that comes at once counts as an echo of the first.
    await until(() => program.child.exitCode !== null || !program.child.kill("SIGTERM"));
    expect(await program.exited).toEqual({ code: 143, signal: null });
    await until(() => pids.every((worker) => !isAlive(worker)));
  });

  it("Workers that are blocked are killed when the time is over", async () => {
    const program = workers(2, { options: { shutdownTimeout: 0.5 } });
    const url = await program.url();
    get(`${url}/block?ms=30000`).catch(() => {});
    await program.shows(/block begins/);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 1, signal: null });
  });

  it("Workers respond to requests in flight and end when their supervisor dies", async () => {
    const program = workers(2);
    const url = await program.url();
    const pids = await respondingWorkers(url, 2);
    const slow = get(`${url}/slow?ms=700`);
    await program.shows(/slow begins/);
    program.child.kill("SIGKILL");
    expect(await slow).toMatchObject({ status: 200 });
    await until(() => pids.every((worker) => !isAlive(worker)));
    expect(program.stdout.match(/^shutdown \d+$/gm)).toHaveLength(2);
  });

  it("A message that a worker publishes reaches the other workers, and not itself", async () => {
    const program = workers(2);
    const url = await program.url();
    await respondingWorkers(url, 2);
    const speaker = Number((await get(`${url}/publish?word=hello`)).text);
    const heard = new Map<number, unknown>();
    await until(async () => {
      const answer = JSON.parse((await get(`${url}/heard`)).text);
      heard.set(answer.pid, answer.heard);
      return heard.size === 2 && [...heard.values()].flat().length > 0;
    });
    for (const [worker, words] of heard) expect(words).toEqual(worker === speaker ? [] : ["hello"]);
  });

  it("A process that is a worker of another cluster starts no workers", async () => {
    const file = new URL("./fixtures/foreign-cluster.ts", import.meta.url).pathname;
    const program = new Program({ file, args: ["--env", "production", "--workers", "2"] });
    const url = await program.url();
    const parent = execFileSync("ps", ["-o", "ppid=", "-p", (await get(`${url}/pid`)).text], { encoding: "utf8" });
    expect(Number(parent)).toBe(program.child.pid);
  });
});
