import { describe, expect, it } from "vitest";
import { patient, until } from "../../server/process/program.js";
import { count, Machine } from "./shop.js";

describe("several workers without a key-value store", patient, () => {
  it("allow exactly the limit of a token bucket together, one request after the other", async () => {
    const machine = await Machine.start();
    const pids = await machine.pids();
    const statuses: number[] = [];
    const allowedBy = new Set<string>();
    for (let i = 0; i < 12; i++) {
      const { status, text } = await machine.get("/few");
      statuses.push(status);
      if (status === 200) allowedBy.add(text);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
    expect([...allowedBy].sort()).toEqual(pids.sort());
  });

  it("allow exactly the limit under load", async () => {
    const machine = await Machine.start({}, 3);
    const [many, window] = await Promise.all([machine.load("/many", 900), machine.load("/window", 600)]);
    expect(count(many, 200)).toBe(500);
    expect(count(many, 429)).toBe(400);
    expect(count(window, 200)).toBe(300);
    expect(count(window, 429)).toBe(300);
  });

  it("allow no more after one of them was killed, and the one in its place counts with them", async () => {
    const machine = await Machine.start();
    const [first] = await machine.pids();
    const before = await machine.load("/few", 3, 1);
    process.kill(Number(first), "SIGKILL");
    await until(async () => !(await machine.pids()).includes(first!));
    const after = await machine.load("/few", 20);
    expect(count(before, 200) + count(after, 200)).toBe(5);
  });

  it("drop a cached response in all of them before invalidateCache resolves", async () => {
    const machine = await Machine.start({}, 3);
    for (let round = 0; round < 5; round++) {
      const old = new Set((await machine.fromAll("/cached")).map(({ text }) => text));
      expect(old.size).toBe(3);
      const { text } = await machine.get("/invalidate");
      expect(JSON.parse(text)).toEqual({ dropped: 3 });
      const after = await machine.fromAll("/cached");
      expect(after.filter((reply) => old.has(reply.text))).toEqual([]);
    }
  });

  it("drop the cached responses of an address that a request has changed", async () => {
    const machine = await Machine.start();
    const old = new Set((await machine.fromAll("/cached")).map(({ text }) => text));
    expect((await machine.post("/cached")).status).toBe(200);
    expect((await machine.fromAll("/cached")).filter((reply) => old.has(reply.text))).toEqual([]);
  });

  it("refuse a revoked token, also a worker that was started later", async () => {
    const machine = await Machine.start();
    for (let round = 0; round < 5; round++) {
      const authorization = `Bearer ${(await machine.get("/login")).text}`;
      expect(count(await machine.fromAll("/me", { authorization }), 200)).toBe(8);
      const { status, text: pid } = await machine.get("/logout", { authorization });
      expect(status).toBe(200);
      expect(count(await machine.fromAll("/me", { authorization }), 401)).toBe(8);
      if (round < 4) continue;
      process.kill(Number(pid), "SIGKILL");
      await until(async () => !(await machine.pids()).includes(pid));
      expect(count(await machine.fromAll("/me", { authorization }), 401)).toBe(8);
    }
  });

  it("open a circuit after the failures of all of them together", async () => {
    const machine = await Machine.start();
    const statuses = [];
    for (let i = 0; i < 8; i++) statuses.push((await machine.get("/fails")).status);
    expect(statuses).toEqual([500, 500, 500, 500, 500, 503, 503, 503]);
    const circuits = JSON.parse((await machine.get("/circuits")).text) as { route: string; state: string }[];
    expect(circuits.find(({ route }) => route === "GET /fails")?.state).toBe("open");
    expect(machine.program.report().match(/the circuit of GET \/fails is open/g)).toHaveLength(1);
  });

  it("forget the failures of a circuit after a success in any of them", async () => {
    const machine = await Machine.start();
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 2; i++) expect((await machine.get("/mends?fail")).status).toBe(500);
      expect((await machine.get("/mends")).status).toBe(200);
    }
    for (let i = 0; i < 3; i++) expect((await machine.get("/mends?fail")).status).toBe(500);
    expect((await machine.get("/mends")).status).toBe(503);
  });

  it("share the sessions of a memory store", async () => {
    const machine = await Machine.start();
    const response = await fetch(`${machine.url}/visits`);
    const cookie = response.headers.getSetCookie()[0]!.split(";", 1)[0]!;
    const visits = [];
    for (let i = 0; i < 4; i++) {
      const { text } = await machine.get("/visits", { cookie });
      visits.push((JSON.parse(text) as { visits: number }).visits);
    }
    expect(visits).toEqual([2, 3, 4, 5]);
  });

  it("print no warning, and end well", async () => {
    const machine = await Machine.start();
    await machine.pids();
    machine.program.child.kill("SIGTERM");
    expect(await machine.program.exited).toEqual({ code: 0, signal: null });
    expect(machine.program.report()).not.toMatch(/has its own|"level":"(?:warn|error)"/);
  });
});
