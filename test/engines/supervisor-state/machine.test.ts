import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Events } from "../../batteries/rooms/events.js";
import { openSocket } from "../../batteries/rooms/socket.js";
import { patient, until } from "../../server/process/program.js";
import { withoutNative } from "../../server/support.js";
import {
  count,
  expectCircuits,
  expectEnd,
  expectHall,
  expectLimitAfterKill,
  expectLimits,
  Machine,
  openHall,
  usesMemory,
} from "./shop.js";

describe("several workers without a key-value store, by messages", patient, () => {
  let machine: Machine;
  beforeAll(async () => {
    machine = await Machine.start({ STOA_TRANSPORT: "net" }, 3);
  });
  afterAll(() => machine.kill());

  it("Workers allow exactly the limit of a token bucket together, one request after the other", async () => {
    const statuses: number[] = [];
    const allowedBy = new Set<string>();
    for (let i = 0; i < 12; i++) {
      const { status, text } = await machine.get("/few");
      statuses.push(status);
      if (status === 200) allowedBy.add(text);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
    expect(allowedBy.size).toBe(3);
  });

  it("Workers allow exactly the limit together under load", () => expectLimits(machine));

  it("A cached response is dropped in all workers before invalidateCache() resolves", async () => {
    for (let round = 0; round < 5; round++) {
      const old = new Set((await machine.fromAll("/cached")).map(({ text }) => text));
      expect(old.size).toBe(3);
      const { text } = await machine.get("/invalidate");
      expect(JSON.parse(text)).toEqual({ dropped: 3 });
      const after = await machine.fromAll("/cached");
      expect(after.filter((reply) => old.has(reply.text))).toEqual([]);
    }
  });

  it("A value of app.cache is dropped in all workers before invalidateCache() resolves", async () => {
    const old = new Set((await machine.fromAll("/price")).map(({ text }) => text));
    expect(old.size).toBe(3);
    expect(JSON.parse((await machine.get("/invalidate-prices")).text)).toEqual({ dropped: 3 });
    expect((await machine.fromAll("/price")).filter(({ text }) => old.has(text))).toEqual([]);
  });

  it("The cached responses of an address that a request has changed are dropped in all workers", async () => {
    const old = new Set((await machine.fromAll("/cached")).map(({ text }) => text));
    expect((await machine.post("/cached")).status).toBe(200);
    expect((await machine.fromAll("/cached")).filter((reply) => old.has(reply.text))).toEqual([]);
  });

  it("A circuit opens after the failures of all workers together, and a success in any worker resets its failures", async () => {
    await expectCircuits(machine);
  });

  it("Workers share the sessions of a memory store", async () => {
    const response = await fetch(`${machine.url}/visits`);
    const cookie = response.headers.getSetCookie()[0]!.split(";", 1)[0]!;
    const visits = [];
    for (let i = 0; i < 4; i++) {
      const { text } = await machine.get("/visits", { cookie });
      visits.push((JSON.parse(text) as { visits: number }).visits);
    }
    expect(visits).toEqual([2, 3, 4, 5]);
  });

  it("A room's messages reach the clients of all workers in one order, and again a client that comes back", async () => {
    const sockets = await Promise.all(Array.from({ length: 6 }, () => openSocket(`${machine.url}/ws/lobby`)));
    const pids = await Promise.all(sockets.map(async (socket) => (await socket.recv())?.text));
    expect(new Set(pids).size).toBe(3);
    const first = await Events.open(`${machine.url}/events/lobby`);
    await until(async () => (await machine.members("lobby")) === 7);
    for (const socket of sockets) for (const n of [1, 2, 3]) void socket.sendText(`${n}`);
    const heard = await Promise.all(
      sockets.map(async (socket) => {
        const texts = [];
        for (let i = 0; i < 18; i++) texts.push((await socket.recv())?.text);
        return texts.join();
      }),
    );
    expect(new Set(heard).size).toBe(1);
    expect((await first.take(17)).join()).toBe(heard[0]!.slice(0, 33));
    const { id } = (await first.next())!;
    first.leave();
    await machine.get("/say/lobby/missed");
    const second = await Events.open(`${machine.url}/events/lobby`, id);
    expect(await second.take(1)).toEqual(["missed"]);
  });

  it("A GraphQL subscription to a room gets the messages of all workers, each once", async () => {
    const url = `${machine.url}/graphql?query=${encodeURIComponent('subscription { said(room: "news") }')}`;
    const open = () => Events.open(url, undefined, { accept: "text/event-stream", "graphql-require-preflight": "1" });
    const streams = await Promise.all(Array.from({ length: 6 }, open));
    await until(async () => (await machine.members("news")) === 6);
    for (const text of ["a", "b", "c"]) await machine.get(`/say/news/${text}`);
    const heard = await Promise.all(streams.map((stream) => stream.take(3)));
    const expected = ["a", "b", "c"].map((said) => JSON.stringify({ data: { said } }));
    for (const texts of heard) expect(texts).toEqual(expected);
  });

  it("Of refreshes of one token in several workers at the same moment one wins, and the family ends without a grace", async () => {
    for (let round = 0; round < 3; round++) {
      const authorization = `Bearer ${(await machine.get("/login")).text}`;
      const refreshed = await Promise.all(
        Array.from({ length: 6 }, () => machine.get("/refresh-once", { authorization })),
      );
      const won = refreshed.filter(({ status }) => status === 200);
      expect([won.length, count(refreshed, 401)]).toEqual([1, 5]);
      const successor = { authorization: `Bearer ${won[0]!.text}` };
      expect(count(await machine.fromAll("/me-once", successor), 200)).toBe(0);
    }
  });

  it("A token can be refreshed in several workers at the same moment within the grace", async () => {
    const authorization = `Bearer ${(await machine.get("/login")).text}`;
    const refreshed = await Promise.all(Array.from({ length: 6 }, () => machine.get("/refresh", { authorization })));
    expect(count(refreshed, 200)).toBe(6);
    expect(count(await machine.fromAll("/me", { authorization }), 200)).toBe(0);
    for (const { text } of refreshed) {
      expect((await machine.get("/me", { authorization: `Bearer ${text}` })).status).toBe(200);
    }
  });

  it("Members of a room in all workers are told who joins and leaves, and get the messages of all others", async () => {
    await expectHall([machine]);
  });

  it("WebSockets of all workers end with their token and with their session", async () => {
    await expectEnd([machine]);
  });

  it("All workers refuse the tokens of a subject whose tokens are revoked, and accept later ones", async () => {
    const login = async (): Promise<{ authorization: string }> => ({
      authorization: `Bearer ${(await machine.get("/login")).text}`,
    });
    const before = await login();
    expect((await machine.get("/logout-all")).status).toBe(204);
    expect(count(await machine.fromAll("/me", before), 401)).toBe(12);
    expect(count(await machine.fromAll("/me", await login()), 200)).toBe(12);
  });

  it("All workers refuse a revoked token", async () => {
    for (let round = 0; round < 5; round++) {
      const authorization = `Bearer ${(await machine.get("/login")).text}`;
      expect(count(await machine.fromAll("/me", { authorization }), 200)).toBe(12);
      expect((await machine.get("/logout", { authorization })).status).toBe(200);
      expect(count(await machine.fromAll("/me", { authorization }), 401)).toBe(12);
    }
  });

  it("The limit holds if a worker is killed under load, up to the requests of its last turn", async () => {
    expect(await usesMemory(machine)).toBe(false);
    await expectLimitAfterKill(machine, 64);
  });
});

describe("a worker that is killed, with shared memory where it can be had", patient, () => {
  let machine: Machine;
  beforeAll(async () => {
    machine = await Machine.start();
  });
  afterAll(() => machine.kill());

  it("Limits, revoked tokens and members of rooms survive the kill of a worker, are told of it, and the next worker knows them", async () => {
    const visitors = await openHall([machine]);
    const authorization = `Bearer ${(await machine.get("/login")).text}`;
    expect((await machine.get("/logout", { authorization })).status).toBe(200);
    const sockets = await Promise.all([1, 2].map(() => openSocket(`${machine.url}/ws/lobby`)));
    const [first, second] = await Promise.all(sockets.map(async (socket) => (await socket.recv())?.text));
    expect(first).not.toBe(second);
    const before = await machine.load("/few", 3, 1);
    process.kill(Number(first), "SIGKILL");
    await until(async () => (await machine.members("lobby")) === 1);
    const isDead = (pid: number): boolean => pid === Number(first);
    const alive = visitors.filter(({ pid }) => pid !== Number(first));
    await until(() => alive.every(({ members }) => ![...members.values()].some(isDead)));
    for (const { members } of alive) expect(members.size).toBe(alive.length);
    await until(async () => !(await machine.pids()).includes(first!));
    expect(count(before, 200) + count(await machine.load("/few", 20), 200)).toBe(5);
    expect(count(await machine.fromAll("/me", { authorization }), 401)).toBe(8);
    await machine.get("/say/lobby/hello");
    expect((await sockets[1]!.recv())?.text).toBe("hello");
  });

  it("Workers with shared memory allow exactly the limit, under load and if one is killed", async () => {
    expect(await usesMemory(machine)).toBe(withoutNative === undefined);
    await expectLimits(machine);
    await expectLimitAfterKill(machine, withoutNative === undefined ? 0 : 64);
    await machine.pids();
    await expect(machine.get("/die")).rejects.toThrow();
    expect(count(await machine.load("/few-more", 20), 200)).toBe(5);
  });

  it("Workers with shared memory share circuits, and one that is stopped holds up no request of the others", async () => {
    await expectCircuits(machine);
    const [first] = await machine.pids();
    process.kill(Number(first), "SIGSTOP");
    try {
      const replies: number[] = [];
      const requests = Array.from({ length: 12 }, async () => replies.push((await machine.get("/breaks")).status));
      // One request waits in the worker that is stopped.
      await until(() => replies.length >= 11);
      expect([
        replies.filter((status) => status === 500).length,
        replies.filter((status) => status === 503).length,
      ]).toEqual([3, 8]);
      process.kill(Number(first), "SIGCONT");
      await Promise.all(requests);
      expect(replies[11]).toBe(503);
    } finally {
      process.kill(Number(first), "SIGCONT");
    }
    // By messages, a report that a worker does not confirm fails after four seconds.
    if (withoutNative === undefined) expect(machine.program.report()).not.toContain("the store of the circuit");
  });

  it("A half-open circuit admits a request again when the worker that tested it was killed", async () => {
    expect((await machine.get("/probed?fail")).status).toBe(500);
    const statuses = new Set<number>();
    await until(async () => {
      const reply = await machine.get("/probed?die").catch(() => null);
      if (reply !== null) statuses.add(reply.status);
      return reply === null;
    });
    expect([...statuses].filter((status) => status !== 503)).toEqual([]);
    await until(async () => (await machine.get("/probed").catch(() => null))?.status === 200);
  });

  it("The server logs no error but the deaths of the workers that were killed, and ends with code 0", async () => {
    await machine.pids();
    machine.program.child.kill("SIGTERM");
    expect(await machine.program.exited).toEqual({ code: 0, signal: null });
    const lines = machine.program.report().split("\n");
    const others = lines
      .filter((line) => !/was ended by SIGKILL|"GET \/(fails|mends|breaks|probed) failed/.test(line))
      .join("\n");
    expect(others).not.toMatch(/has its own|"level":"error"/);
  });
});
