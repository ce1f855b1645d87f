import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { get, Program, patient, until } from "./program.js";

/** A connection on which something has been sent. */
async function sending(url: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  return socket;
}

describe("a signal to stop", patient, () => {
  it.each(["SIGTERM", "SIGINT"] as const)("An idle server ends on %s with code 0, after its hooks", async (signal) => {
    const program = new Program();
    await program.shows(/running/);
    program.child.kill(signal);
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout).toMatch(/drain begins\nshutdown \d+\n$/);
    expect(program.stderr).toBe("");
  });

  it("A stopped server responds to 20 requests in flight, refuses new ones, and exits with 0", async () => {
    const program = new Program();
    const url = await program.url();
    const answers = Promise.all(Array.from({ length: 20 }, () => get(`${url}/slow?ms=2000`)));
    await program.shows(/slow begins/, 20);
    program.child.kill("SIGTERM");
    await program.shows(/drain begins/);
    // One that the system had accepted before is still served.
    await until(() =>
      get(url).then(
        () => false,
        ({ message }) => /ECONNREFUSED|ECONNRESET|hang up/.test(message),
      ),
    );
    for (const answer of await answers) expect(answer).toMatchObject({ status: 200, connection: "close" });
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it("A stopped server closes idle kept-alive connections at once", async () => {
    const program = new Program({ options: { shutdownTimeout: 60 } });
    const socket = await sending(await program.url(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await new Promise((resolve) => socket.once("data", resolve));
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it.each(["net", "node"] as const)(
    "A stopped server gives up a stuck client when the time is over (%s)",
    async (transport) => {
      const program = new Program({ options: { shutdownTimeout: 1, transport } });
      const head = "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome";
      const socket = await sending(await program.url(), head);
      const closed = new Promise((resolve) => socket.resume().once("close", resolve));
      await program.shows(/upload begins/);
      program.child.kill("SIGTERM");
      expect(await program.exited).toEqual({ code: 0, signal: null });
      expect(program.stdout).toMatch(/shutdown \d+\n$/);
      await closed;
    },
  );

  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("A server ends at once at a second %s", async (signal, code) => {
    const program = new Program({ options: { shutdownTimeout: 60 } });
    const url = await program.url();
    get(`${url}/slow?ms=30000`).catch(() => {});
    await program.shows(/slow begins/);
    program.child.kill(signal);
    await program.shows(/drain begins/);
    // One that comes at once counts as an echo of the first.
    await until(() => program.child.exitCode !== null || !program.child.kill(signal));
    expect(await program.exited).toEqual({ code, signal: null });
    expect(program.stdout).not.toContain("shutdown ");
  });

  it("A signal that npm repeats after the terminal counts once", async () => {
    const program = new Program();
    const url = await program.url();
    const slow = get(`${url}/slow?ms=500`);
    await program.shows(/slow begins/);
    program.child.kill("SIGINT");
    program.child.kill("SIGINT");
    expect(await slow).toMatchObject({ status: 200 });
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it("A shutdown hook that hangs is reported when the time is over, with exit code 1", async () => {
    const program = new Program({ options: { shutdownTimeout: 0.5 }, env: { FAULT: "shutdown hangs" } });
    await program.shows(/running/);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 1, signal: null });
    expect(program.stdout).toContain("the shutdown hooks did not end in time");
  });

  it("A shutdown hook that fails is reported, with exit code 1", async () => {
    const program = new Program({ env: { FAULT: "shutdown throws" } });
    await program.shows(/running/);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 1, signal: null });
    expect(program.stdout).toContain("a shutdown hook failed");
  });

  it("A signal ends a server whose startup hangs", async () => {
    const program = new Program({ options: { shutdownTimeout: 0.5 }, env: { FAULT: "startup hangs" } });
    await program.shows(/startup/);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 1, signal: null });
  });

  it("A signal during a blocked event loop is obeyed after the responses to the waiting requests", async () => {
    const program = new Program();
    const url = await program.url();
    const blocked = get(`${url}/block?ms=1000`);
    await program.shows(/block begins/);
    const waiting = await sending(url, "GET /slow?ms=50 HTTP/1.1\r\nHost: a\r\n\r\n");
    program.child.kill("SIGTERM");
    expect(await blocked).toMatchObject({ text: "unblocked", connection: "close" });
    expect(await text(waiting)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });
});

describe("an uncaught error", patient, () => {
  it.each([
    ["/throw", "uncaught exception", "out of nowhere"],
    ["/reject", "unhandled rejection", "nobody waits for this"],
  ])(
    "An uncaught error of %s is logged with its stack, drains the server and exits with 1",
    async (path, what, message) => {
      const program = new Program({ compile: false, options: { unhandled_rejections: "exit" } });
      const url = await program.url();
      const slow = get(`${url}/slow?ms=500`);
      await program.shows(/slow begins/);
      await get(`${url}${path}`).catch(() => {});
      expect(await slow).toMatchObject({ status: 200, connection: "close" });
      expect(await program.exited).toEqual({ code: 1, signal: null });
      const logged = JSON.parse(/^\{"level":"error".*$/m.exec(program.stdout)![0]);
      expect(logged.msg).toContain(what);
      expect(logged.stack).toMatch(new RegExp(`${message}\n.*target\\.ts:\\d+`));
      expect(program.stdout).toMatch(/shutdown \d+\n$/);
      expect(program.stderr).toBe("");
    },
  );

  it("A rejection that nobody handles is logged with its stack, and the server continues", async () => {
    const program = new Program({ compile: false });
    const url = await program.url();
    for (let i = 1; i <= 3; i++) {
      expect(await get(`${url}/reject`)).toMatchObject({ status: 200 });
      await program.shows(/^\{"level":"error".*$/m, i);
    }
    const logged = JSON.parse((await program.shows(/^\{"level":"error".*$/m))[0]);
    expect(logged.msg).toBe("unhandled rejection: a promise was rejected without a handler");
    expect(logged.stack).toMatch(/nobody waits for this\n.*target\.ts:\d+/);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout.match(/"level":"error"/g)).toHaveLength(3);
    expect(program.stderr).toBe("");
  });
});

describe("faults around a process", patient, () => {
  it("A server continues if its output is closed", async () => {
    const program = new Program();
    const url = await program.url();
    await program.shows(/running/);
    program.child.stdout!.destroy();
    program.child.stderr!.destroy();
    for (let i = 0; i < 5; i++) expect(await get(`${url}/slow?ms=1`)).toMatchObject({ status: 200 });
    program.child.kill("SIGTERM");
    expect((await program.exited).code).toBe(0);
  });

  it("A server continues if its output is not read", async () => {
    const program = new Program();
    const url = await program.url();
    await program.shows(/running/);
    program.child.stdout!.pause();
    // Far more than the pipe and the reader's buffer hold.
    for (let i = 0; i < 100; i++) expect(await get(`${url}/chatter`)).toMatchObject({ text: "said" });
    expect(await get(url)).toMatchObject({ text: "hello" });
  });

  it("A server responds to every request that waited while it was suspended", async () => {
    const program = new Program();
    const url = await program.url();
    await get(url);
    program.child.kill("SIGSTOP");
    const { hostname, port } = new URL(url);
    const waiting = Array.from({ length: 30 }, () => connect(Number(port), hostname));
    const answers = waiting.map((socket) => text(socket));
    const ask = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    await Promise.all(waiting.map((socket) => new Promise((resolve) => socket.write(ask, resolve))));
    program.child.kill("SIGCONT");
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("A server survives more connections than it can have descriptors, and serves afterwards", async () => {
    const program = new Program({ shell: 'ulimit -n 64; exec "$@"' });
    const url = await program.url();
    const { hostname, port } = new URL(url);
    const sockets = Array.from({ length: 120 }, () =>
      connect(Number(port), hostname)
        .on("error", () => {})
        .resume(),
    );
    await until(() => sockets.every((socket) => !socket.connecting));
    // Connections without a descriptor are closed.
    await until(() => sockets.some((socket) => socket.closed));
    for (const socket of sockets) socket.destroy();
    await until(() =>
      get(url).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });
});
