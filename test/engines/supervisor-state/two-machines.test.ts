import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Events } from "../../batteries/rooms/events.js";
import { openSocket } from "../../batteries/rooms/socket.js";
import { patient, until } from "../../server/process/program.js";
import { service } from "../../support/service.js";
import { testStore } from "../kvstore/store.js";
import { count, expectEnd, expectHall, Machine } from "./shop.js";

const redis = service("redis");

interface MachinePanel {
  readonly title: string;
  readonly tables: readonly { readonly rows: MachineRow[] }[];
}

type MachineRow = [name: unknown, version: string, processes: string, since: unknown, actions: { readonly id: string }];

async function listedBy(machine: Machine): Promise<MachineRow[]> {
  const { panels } = JSON.parse((await machine.get("/_machine/view")).text) as { panels: MachinePanel[] };
  return panels.find(({ title }) => title === "Machines")!.tables[0]!.rows;
}

/** Two servers, each with a supervisor and two workers of its own. They have nothing in common but the store. */
describe.skipIf(!redis)("two machines with a key-value store", patient, () => {
  const prefix = `test:${randomUUID()}:`;
  let one: Machine;
  let two: Machine;
  beforeAll(async () => {
    const env = { STORE: redis!, PREFIX: prefix };
    [one, two] = await Promise.all([Machine.start(env), Machine.start(env)]);
  });
  afterAll(() => {
    one.kill();
    two.kill();
  });

  it("Two machines allow exactly the limit together", async () => {
    const loads = [one, two].flatMap((machine) => [machine.load("/many", 450), machine.load("/window", 300)]);
    const [many1, window1, many2, window2] = await Promise.all(loads);
    expect(count([...many1!, ...many2!], 200)).toBe(500);
    expect(count([...many1!, ...many2!], 429)).toBe(400);
    expect(count([...window1!, ...window2!], 200)).toBe(300);
    const costly = await Promise.all([one.load("/costly", 20), two.load("/costly", 20)]);
    expect(count(costly.flat(), 200)).toBe(10);
  });

  it("Two machines serve one another's cached responses, and none of them after an invalidation was seen", async () => {
    // The port of the server would be part of the key.
    const headers = { host: "localhost" };
    const { text: old } = await one.get("/cached", headers);
    for (const machine of [one, two]) {
      for (const { text } of await machine.fromAll("/cached", headers)) expect(text).toBe(old);
    }
    await one.get("/invalidate");
    const seen = async (machine: Machine): Promise<boolean> =>
      (await machine.fromAll("/cached", headers)).every(({ text }) => text !== old);
    await until(async () => (await seen(one)) && (await seen(two)));
  });

  it("Of refreshes of one token in several machines at the same moment one wins, and the family ends without a grace", async () => {
    for (let round = 0; round < 3; round++) {
      const authorization = `Bearer ${(await one.get("/login")).text}`;
      const refreshed = await Promise.all(
        Array.from({ length: 6 }, (_, i) => (i % 2 ? one : two).get("/refresh-once", { authorization })),
      );
      const won = refreshed.filter(({ status }) => status === 200);
      expect([won.length, count(refreshed, 401)]).toEqual([1, 5]);
      const successor = { authorization: `Bearer ${won[0]!.text}` };
      expect(count(await two.fromAll("/me-once", successor), 200)).toBe(0);
    }
  });

  it("A token can be refreshed in several machines at the same moment within the grace", async () => {
    const authorization = `Bearer ${(await one.get("/login")).text}`;
    const refreshed = await Promise.all(
      Array.from({ length: 6 }, (_, i) => (i % 2 ? one : two).get("/refresh", { authorization })),
    );
    expect(count(refreshed, 200)).toBe(6);
    expect(count(await one.fromAll("/me", { authorization }), 200)).toBe(0);
    for (const { text } of refreshed) {
      expect((await two.get("/me", { authorization: `Bearer ${text}` })).status).toBe(200);
    }
  });

  it("Members of a room in both machines are told who joins and leaves, and get the messages of all others", async () => {
    await expectHall([one, two]);
  });

  it("WebSockets of both machines end with their token and with their session", async () => {
    await expectEnd([one, two]);
  });

  it("Both machines refuse a revoked token", async () => {
    for (let round = 0; round < 3; round++) {
      const authorization = `Bearer ${(await one.get("/login")).text}`;
      expect(count(await two.fromAll("/me", { authorization }), 200)).toBe(8);
      expect((await one.get("/logout", { authorization })).status).toBe(200);
      expect(count(await one.fromAll("/me", { authorization }), 401)).toBe(8);
      expect(count(await two.fromAll("/me", { authorization }), 401)).toBe(8);
    }
  });

  it("A GraphQL subscription to a room gets the messages of both machines, each once", async () => {
    const query = `/graphql?query=${encodeURIComponent('subscription { said(room: "news") }')}`;
    const open = (machine: Machine) =>
      Events.open(machine.url + query, undefined, { accept: "text/event-stream", "graphql-require-preflight": "1" });
    const streams = await Promise.all([one, two, one, two].map(open));
    await until(async () => (await one.members("news")) === 4);
    await one.get("/say/news/a");
    await two.get("/say/news/b");
    const expected = ["a", "b"].map((said) => JSON.stringify({ data: { said } }));
    for (const stream of streams) expect(await stream.take(2)).toEqual(expected);
  });

  it("A room's messages reach the clients of both machines in one order, and again a client that comes back", async () => {
    const machines = [one, two, one, two];
    const sockets = await Promise.all(machines.map((machine) => openSocket(`${machine.url}/ws/lobby`)));
    for (const socket of sockets) await socket.recv();
    const first = await Events.open(`${two.url}/events/lobby`);
    await until(async () => (await one.members("lobby")) === 5);
    for (const socket of sockets) for (const n of [1, 2, 3]) void socket.sendText(`${n}`);
    const heard = await Promise.all(
      sockets.map(async (socket) => {
        const texts = [];
        for (let i = 0; i < 12; i++) texts.push((await socket.recv())?.text);
        return texts.join();
      }),
    );
    expect(new Set(heard).size).toBe(1);
    await first.take(11);
    const { id } = (await first.next())!;
    first.leave();
    await one.get("/say/lobby/missed");
    const second = await Events.open(`${one.url}/events/lobby`, id);
    expect(await second.take(1)).toEqual(["missed"]);
  });

  it("A circuit opens for both machines", async () => {
    await until(async () => (await one.get("/fails")).status === 503);
    await until(async () => (await two.fromAll("/fails")).every(({ status }) => status === 503));
  });

  it("An operator sees all machines on the page of any, and drains another; a client does not get at them", async () => {
    const third = await Machine.start({ STORE: redis!, PREFIX: prefix });
    onTestFinished(() => third.kill());
    const listed = (): Promise<MachineRow[]> => listedBy(one);
    await until(async () => (await listed()).length === 3);
    const pids = (await third.pids()).sort((a, b) => Number(a) - Number(b)).join(", ");
    const row = (await listed()).find(([, , processes]) => processes === pids)!;
    expect(row[1]).toBe("1.2");
    expect(row[0]).toBe(row[4].id);
    const hostile = await one.get("/members/stoa:machines");
    expect([hostile.status, hostile.text]).toEqual([400, expect.stringContaining("are internal")]);
    const drained = await fetch(`${one.url}/_machine/act`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: row[4].id, action: "drain" }),
    });
    expect(drained.status).toBe(200);
    expect(await third.program.exited).toEqual({ code: 0, signal: null });
    await until(async () => (await listed()).length === 2);
    expect((await one.get("/pid")).status).toBe(200);
  });

  it("Two servers with one host name and one process id, as in containers, are two machines", async () => {
    const env = { STORE: redis!, PREFIX: `test:${randomUUID()}:` };
    // A number that no process has: a signal to it reaches nobody.
    const node = ["--import", "data:text/javascript,Object.defineProperty(process,'pid',{value:99999999})"];
    const machines = await Promise.all([1, 2].map(() => Machine.start(env, 1, node)));
    onTestFinished(() => machines.forEach((machine) => void machine.kill()));
    for (const machine of machines) {
      await until(async () => {
        const rows = await listedBy(machine);
        return rows.length === 2 && rows.every(([, , processes]) => processes === "99999999");
      });
    }
  });

  it("Limits and revoked tokens survive the kill of one machine, its supervisor included", async () => {
    await testStore({ prefix });
    const authorization = `Bearer ${(await one.get("/login")).text}`;
    await one.get("/logout", { authorization });
    for (let i = 0; i < 3; i++) await one.get("/few-more");
    one.kill();
    expect(count(await two.load("/few-more", 10), 200)).toBe(2);
    expect(count(await two.fromAll("/me", { authorization }), 401)).toBe(8);
  });
});
