import { describe, expect, it } from "vitest";
import { Program, patient, until } from "../process/program.js";
import { open, send } from "./client.js";
import { CANCEL, ENHANCE_YOUR_CALM, FrameClient, frame, get, RST_STREAM, uint32 } from "./frames.js";

describe("processes that serve HTTP/2", patient, () => {
  it("Workers serve HTTP/2 on one address, and finish their streams when the server is stopped", async () => {
    const program = new Program({ args: ["--workers", "2", "--http2"] });
    const url = await program.url();
    const pids = new Set<string>();
    await until(async () => {
      const session = await open(url);
      pids.add((await send(session, { ":path": "/pid" })).body);
      session.destroy();
      return pids.size === 2;
    });
    const session = await open(url);
    const slow = send(session, { ":path": "/slow?ms=500" });
    await program.shows(/slow begins/);
    program.child.kill("SIGTERM");
    expect((await slow).status).toBe(200);
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it("A stream that never ends does not keep a server from stopping", async () => {
    const program = new Program({ options: { http2: true, shutdownTimeout: 1 } });
    const session = await open(await program.url());
    const slow = send(session, { ":path": "/slow?ms=600000" });
    await program.shows(/slow begins/);
    program.child.kill("SIGTERM");
    expect((await slow).status).toBe(0);
    expect((await program.exited).signal).toBeNull();
  });

  it("Attackers that come back again and again leave the memory of the process and its log small", async () => {
    const program = new Program({ options: { http2: true, logs: false }, node: ["--max-old-space-size=100"] });
    const url = new URL(await program.url());
    const address = { host: url.hostname, port: Number(url.port) };
    for (let i = 0; i < 30; i++) {
      const attacker = await FrameClient.open(address);
      for (let id = 1; !attacker.closed && id < 10_000; id += 2) {
        await attacker.sendAll(get(id, "/pid"), frame(RST_STREAM, 0, id, uint32(CANCEL)));
      }
      expect([ENHANCE_YOUR_CALM, undefined]).toContain(await attacker.end());
    }
    const session = await open(url.origin);
    expect((await send(session, { ":path": "/pid" })).body).toBe(String(program.child.pid));
    session.destroy();
    const lines = program.stdout.match(/a connection was ended because its client abuses HTTP\/2/g) ?? [];
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThan(10);
  });
});
