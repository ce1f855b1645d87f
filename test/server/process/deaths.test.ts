import { Agent } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { get, Program, patient, respondingWorkers, until } from "./program.js";

describe("a server whose workers die", patient, () => {
  it("A server whose first workers are killed before the last one is ready is not given up", async () => {
    const port = await freePort();
    const program = new Program({ args: ["--workers", "3"], env: { FAULT: "third startup hangs" }, options: { port } });
    const url = `http://127.0.0.1:${port}`;
    await respondingWorkers(url, 2);
    const deaths = (): number => program.stdout.split("was ended by SIGKILL").length - 1;
    await until(async () => {
      await get(`${url}/kill`).catch(() => {});
      return deaths() >= 7 || program.child.exitCode !== null;
    });
    expect(program.child.exitCode, program.report()).toBeNull();
    expect((await get(url)).text).toBe("hello");
  });

  it("Connections wait while no worker lives, and none is refused", async () => {
    const program = new Program({ args: ["--workers", "2"], env: { FAULT: "startup is slow" } });
    const url = await program.url();
    const victims = await respondingWorkers(url, 2);
    for (const victim of victims) process.kill(Number(victim), "SIGKILL");
    await program.shows(/was ended by SIGKILL/, 2);
    const answers = await Promise.all(Array.from({ length: 20 }, () => get(`${url}/pid`)));
    for (const { status, text } of answers) expect([status, victims.includes(text)]).toEqual([200, false]);
  });

  it("Connections that came while no worker lived are closed when the server is stopped", async () => {
    const program = new Program({ args: ["--workers", "2"], env: { FAULT: "second startups hang" } });
    const url = await program.url();
    for (const victim of await respondingWorkers(url, 2)) process.kill(Number(victim), "SIGKILL");
    await program.shows(/was ended by SIGKILL/, 2);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const closed = new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
    await new Promise((resolve) => socket.once("connect", resolve));
    program.child.kill("SIGTERM");
    await closed;
    await program.exited;
  });

  describe("malformed messages", () => {
    let program: Program;
    beforeAll(() => {
      program = new Program({ args: ["--workers", "2"], shared: true });
    });
    afterAll(() => void program.child.kill("SIGKILL"));

    async function survives(message: object): Promise<void> {
      const url = await program.url();
      await get(`${url}/message?json=${encodeURIComponent(JSON.stringify(message))}`);
      await get(`${url}/message?json=${encodeURIComponent(JSON.stringify({ stoa: "turn", inspected: false }))}`);
      for (let i = 0; i < 8; i++) expect((await get(url)).status).toBe(200);
      expect(program.child.exitCode, program.report()).toBeNull();
    }

    it.each([
      { stoa: null },
      { stoa: "ready" },
      { stoa: "ready", address: null, links: 3 },
      { stoa: "publish" },
      { stoa: "publish", topic: { toString: 1 }, data: 1 },
      { stoa: "failed" },
      { stoa: "turn" },
      { stoa: "leaving" },
      { stoa: "listen" },
      { stoa: "listen", key: "x", address: { host: 3, port: "x" } },
      { stoa: "closed", key: {} },
      { stoa: "took", key: 7 },
      { stoa: "shared" },
      { stoa: "shared", messages: 3 },
      { stoa: "shared", messages: [null] },
      { stoa: "shared", messages: [3, "x", {}] },
      { stoa: "shared", messages: [[-1]] },
      { stoa: "shared", messages: [[1, { toString: 1 }, null]] },
      { stoa: "shared", messages: [[1, "limits", null]] },
      { stoa: "shared", messages: [["1", "__proto__", null]] },
    ])("The message %j of a worker does not end its supervisor", async (message) => {
      await survives(message);
      expect(program.stderr).toBe("");
    });

    it.each([
      { cmd: "NODE_CLUSTER", act: "queryServer" },
      { cmd: "NODE_CLUSTER", act: "queryServer", port: -1, addressType: 4, index: 0 },
      { cmd: "NODE_CLUSTER", act: "close" },
      { cmd: "NODE_CLUSTER", act: "listening", handle: 3 },
      { cmd: "NODE_CLUSTER", ack: {} },
      { cmd: "NODE_HANDLE" },
      { cmd: "NODE_HANDLE", type: "net.Socket" },
      { cmd: "NODE_HANDLE", type: "net.Server", key: 3 },
      { cmd: "NODE_HANDLE", type: "dgram.Socket" },
      { cmd: "NODE_HANDLE_ACK" },
      { cmd: "NODE_HANDLE_NACK" },
      { cmd: "NODE_SOCKET_NOTIFY_CLOSE" },
      { cmd: "NODE_SOCKET_GET_COUNT" },
      { cmd: "NODE_", act: null },
    ])("The message %j in the format of Node does not end the supervisor of its worker", async (message) => {
      await survives(message);
    });
  });

  it("SIGHUP replaces the workers one by one, and every request gets its response", async () => {
    const program = new Program({ args: ["--workers", "2"] });
    const url = await program.url();
    const before = await respondingWorkers(url, 2);
    let running = true;
    const failures: unknown[] = [];
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const client = async (options = {}): Promise<void> => {
      for (let end = performance.now(); running; end = performance.now()) {
        // A connection that was without a request for longer may be closed at any time.
        const wasBusy = performance.now() - end < 100;
        await get(url, options).catch((error) => wasBusy && failures.push(error));
      }
    };
    const clients = [client(), client(), client(), client({ agent }), client({ agent }), client({ agent })];
    program.child.kill("SIGHUP");
    await program.shows(/^shutdown \d+$/m, 2);
    await until(async () => (await respondingWorkers(url, 2, before)).length === 2);
    running = false;
    await Promise.all(clients);
    expect(failures).toEqual([]);
    expect(program.child.exitCode).toBeNull();
    await program.shows(/all workers were replaced/);
  });

  it("A worker that is just starting at SIGHUP is replaced too: it may run the old program", async () => {
    const program = new Program({ args: ["--workers", "2"], env: { FAULT: "second startup waits" } });
    const url = await program.url();
    const [victim] = await respondingWorkers(url, 2);
    process.kill(Number(victim), "SIGKILL");
    await program.shows(/^waiting \d+$/m);
    const starting = /^waiting (\d+)$/m.exec(program.stdout)![1]!;
    program.child.kill("SIGHUP");
    // The other worker is replaced first: the supervisor has heard the signal before the start ends.
    await program.shows(/^shutdown \d+$/m);
    process.kill(Number(starting), "SIGUSR2");
    await program.shows(/all workers were replaced/);
    await program.shows(/^shutdown \d+$/m, 2);
    expect(program.stdout).toContain(`shutdown ${starting}`);
    expect(await respondingWorkers(url, 2)).not.toContain(starting);
  });

  it("A worker stays if the one that would replace it after SIGHUP does not start", async () => {
    const program = new Program({ args: ["--workers", "2"], env: { FAULT: "second startups throw" } });
    const url = await program.url();
    const before = await respondingWorkers(url, 2);
    program.child.kill("SIGHUP");
    await program.shows(/a worker could not start/);
    await program.shows(/the workers were not replaced/);
    expect((await respondingWorkers(url, 2)).toSorted()).toEqual(before.toSorted());
  });

  it("A single process without TLS survives SIGHUP", async () => {
    const program = new Program();
    const url = await program.url();
    program.child.kill("SIGHUP");
    await program.shows(/SIGHUP/);
    expect((await get(url)).status).toBe(200);
  });

  it("The log names the route of the last request that a dead worker began", async () => {
    const program = new Program({ args: ["--workers", "2"] });
    const url = await program.url();
    await get(url);
    await get(`${url}/kill`).catch(() => {});
    await program.shows(/was ended by SIGKILL while it ran GET \/kill; another takes its place/);
  });

  it("The log names the routes of requests that a dead worker had not completed", async () => {
    const program = new Program({ args: ["--workers", "2"] });
    const url = await program.url();
    const victims = await respondingWorkers(url, 2);
    for (const _ of victims) get(`${url}/slow?ms=60000`).catch(() => {});
    await program.shows(/slow begins/, 2);
    await respondingWorkers(url, 2);
    for (const victim of victims) process.kill(Number(victim), "SIGKILL");
    await program.shows(/was ended by SIGKILL while it ran GET \/pid \(in flight: GET \/slow\)/);
  });

  it("The log names the routes that a worker ran when an error was not caught", async () => {
    const program = new Program({ args: ["--workers", "2"] });
    await get(`${await program.url()}/throw`).catch(() => {});
    await program.shows(/"uncaught exception while it ran GET \/throw: the process drains and exits"/);
  });

  it("A worker that a handler ends with code 0 died of it: its route is named", async () => {
    const program = new Program({ args: ["--workers", "2"] });
    await get(`${await program.url()}/exit`).catch(() => {});
    await program.shows(/exited with code 0 while it ran GET \/exit; another takes its place/);
    program.child.kill("SIGTERM");
    expect((await program.exited).code).toBe(0);
  });

  it.each(["kill", "exit"])("A route that ended three workers in a row is refused for a while: %s", async (route) => {
    const program = new Program({ args: ["--workers", "2"], options: { refuseDeadlyRoutes: 600 } });
    const url = await program.url();
    const statuses: (number | string)[] = [];
    await until(async () => {
      statuses.push(
        await get(`${url}/${route}`).then(
          (answer) => answer.status,
          () => "died",
        ),
      );
      return statuses.at(-1) === 503;
    });
    expect(statuses.filter((status) => status === "died").length).toBeGreaterThanOrEqual(3);
    expect((await get(url)).status).toBe(200);
    await program.shows(new RegExp(`GET /${route} was running when 3 workers died: it is refused for 600 s`));
  });
});
