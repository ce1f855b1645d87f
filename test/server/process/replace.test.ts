import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { get, Program, type ProgramOptions, patient, respondingWorkers, until } from "./program.js";

const file = new URL("./fixtures/health-program.ts", import.meta.url).pathname;
const program = (options: ProgramOptions): Program => new Program({ file, ...options });

async function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/socket`);
  await once(socket, "open");
  return socket;
}

const closing = (socket: WebSocket): Promise<[number, string]> =>
  once(socket, "close").then(([code, reason]) => [code, String(reason)]);

describe("the end of a process that is announced", patient, () => {
  it("WebSockets of a replaced worker are closed with 1012 and told to come back, and those of a stopped one with 1001", async () => {
    const server = program({ args: ["--workers", "2"] });
    const url = await server.url();
    const before = await respondingWorkers(url, 2);
    const replaced = [closing(await openSocket(url)), closing(await openSocket(url))];
    server.child.kill("SIGHUP");
    for (const end of await Promise.all(replaced)) expect(end).toEqual([1012, "the server restarts; connect again"]);
    await until(async () => (await respondingWorkers(url, 2, before)).length === 2);
    const stopped = closing(await openSocket(url));
    server.child.kill("SIGTERM");
    expect(await stopped).toEqual([1001, ""]);
  });

  it.each([1, 2])(
    "With drainDelay readiness fails first, and requests are still served (workers: %i)",
    async (workers) => {
      const server = program({ args: ["--workers", String(workers)], options: { drainDelay: 3600 } });
      const url = await server.url();
      expect((await get(`${url}/health/ready`)).status).toBe(200);
      const socket = await openSocket(url);
      server.child.kill("SIGTERM");
      await until(async () => (await get(`${url}/health/ready`)).status === 503);
      for (let i = 0; i < 4; i++) expect((await get(`${url}/pid`)).status).toBe(200);
      expect(socket.readyState).toBe(WebSocket.OPEN);
      socket.terminate();
      // Signals within a tenth of a second count as one.
      await until(async () => {
        server.child.kill("SIGTERM");
        return server.child.exitCode !== null || server.child.signalCode !== null;
      });
      expect(await server.exited).toEqual({ code: 143, signal: null });
    },
  );

  it.each([1, 2])("After drainDelay the server drains and ends (workers: %i)", async (workers) => {
    const server = program({ args: ["--workers", String(workers)], options: { drainDelay: 0.05 } });
    const socket = await openSocket(await server.url());
    const end = closing(socket);
    server.child.kill("SIGTERM");
    expect(await end).toEqual([1001, ""]);
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });
});
