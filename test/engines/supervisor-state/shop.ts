import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { get, Program, until } from "../../server/process/program.js";
import { Client } from "../../websocket/client.js";

const file = fileURLToPath(new URL("./fixtures/shop.ts", import.meta.url));

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** A server with several worker processes: a machine of its own as far as the others know. */
export class Machine {
  readonly program: Program;
  readonly url: string;
  readonly workers: number;

  constructor(program: Program, url: string, workers: number) {
    this.program = program;
    this.url = url;
    this.workers = workers;
  }

  /** It lives until it is killed: tests share it. */
  static async start(
    env: Readonly<Record<string, string>> = {},
    workers = 2,
    node: readonly string[] = [],
  ): Promise<Machine> {
    const program = new Program({ file, args: ["--workers", String(workers)], env, node, shared: true });
    return new Machine(program, await program.url(), workers);
  }

  /** Kills the supervisor; its workers end by themselves. */
  kill(): void {
    this.program.child.kill("SIGKILL");
  }

  /** Each request has a connection of its own: the workers get them in turn. */
  get(path: string, headers: Record<string, string> = {}): Promise<Reply> {
    return get(this.url + path, { headers });
  }

  /** WebSockets to all workers. Each is closed when its session or token ends. */
  async sockets(path: string, headers: Record<string, string>): Promise<Client[]> {
    const url = this.url.replace("http", "ws") + path;
    const sockets: Client[] = [];
    onTestFinished(() => {
      for (const socket of sockets) socket[Symbol.dispose]();
    });
    const workers = new Set<string>();
    const open = async (): Promise<void> => {
      const socket = await Client.connect(url, { headers });
      sockets.push(socket);
      workers.add(String(await socket.next()).split(" ")[0]!);
    };
    await Promise.all(Array.from({ length: 6 }, open));
    // A worker that is busy takes fewer connections than the others.
    while (workers.size < this.workers && sockets.length < 200) await open();
    expect(workers.size).toBe(this.workers);
    return sockets;
  }

  post(path: string): Promise<Reply> {
    return get(this.url + path, { method: "POST" });
  }

  /** So many requests, `width` at a time. Those whose connection broke are left out. */
  async load(path: string, count: number, width = 32): Promise<Reply[]> {
    const replies: Reply[] = [];
    let begun = 0;
    const one = async (): Promise<void> => {
      while (begun++ < count) {
        const reply = await this.get(path).catch(() => null);
        if (reply !== null) replies.push(reply);
      }
    };
    await Promise.all(Array.from({ length: width }, one));
    return replies;
  }

  /** The process ids of all workers. A connection to one that was just killed breaks. */
  async pids(): Promise<string[]> {
    const pids = new Set<string>();
    await until(async () => {
      const reply = await this.get("/pid").catch(() => null);
      if (reply !== null) pids.add(reply.text);
      return pids.size >= this.workers;
    });
    return [...pids];
  }

  /** The number of clients in a room; -1 if nobody replied. */
  async members(room: string): Promise<number> {
    const reply = await this.get(`/members/${room}`).catch(() => null);
    return reply === null ? -1 : (JSON.parse(reply.text) as { count: number }).count;
  }

  /** Repeats a request until each worker has replied. */
  async fromAll(path: string, headers: Record<string, string> = {}): Promise<Reply[]> {
    const pids = await this.pids();
    const replies: Reply[] = [];
    // In turn, so twice as many as there are workers reach all of them, unless one was slow to take a connection.
    for (let i = 0; i < 4 * pids.length; i++) replies.push(await this.get(path, headers));
    return replies;
  }
}

export function count(replies: readonly Reply[], status: number): number {
  return replies.filter((reply) => reply.status === status).length;
}

/** Workers allow together as many requests as one. */
export async function expectLimits(machine: Machine): Promise<void> {
  const [many, window] = await Promise.all([machine.load("/many", 900), machine.load("/window", 600)]);
  expect([count(many, 200), count(many, 429)]).toEqual([500, 400]);
  expect([count(window, 200), count(window, 429)]).toEqual([300, 300]);
  expect(count(await machine.load("/costly", 30), 200)).toBe(10);
}

/** `unreported` requests of the worker's last milliseconds may not be known to the supervisor. */
export async function expectLimitAfterKill(machine: Machine, unreported: number): Promise<void> {
  const [first] = await machine.pids();
  const loading = machine.load("/killed", 900);
  process.kill(Number(first), "SIGKILL");
  const replies = await loading;
  // Requests that were counted and whose response died with the worker are not seen here.
  expect(count(replies, 200)).toBeLessThanOrEqual(400 + unreported);
  expect(count(replies, 200)).toBeGreaterThan(400 - (900 - replies.length) - 1);
  expect(count(replies, 429)).toBeGreaterThan(0);
}

/** The failures of all workers count together, and a success in any of them resets them. */
export async function expectCircuits(machine: Machine): Promise<void> {
  const statuses = [];
  for (let i = 0; i < 8; i++) statuses.push((await machine.get("/fails")).status);
  expect(statuses).toEqual([500, 500, 500, 500, 500, 503, 503, 503]);
  const circuits = JSON.parse((await machine.get("/circuits")).text) as { route: string; state: string }[];
  expect(circuits.find(({ route }) => route === "GET /fails")?.state).toBe("open");
  await until(() => /the circuit of GET \/fails is open/.test(machine.program.report()));
  expect(machine.program.report().match(/the circuit of GET \/fails is open/g)).toHaveLength(1);
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 2; i++) expect((await machine.get("/mends?fail")).status).toBe(500);
    expect((await machine.get("/mends")).status).toBe(200);
  }
  for (let i = 0; i < 3; i++) expect((await machine.get("/mends?fail")).status).toBe(500);
  expect((await machine.get("/mends")).status).toBe(503);
}

/** True if all workers share memory. */
export async function usesMemory(machine: Machine): Promise<boolean> {
  const pids = await machine.pids();
  if (process.platform !== "linux") return false;
  return pids.every((pid) => readFileSync(`/proc/${pid}/maps`, "utf8").includes("/memfd:stoa"));
}

/** A revoked token, an ended session and the end of a user's sessions end the WebSockets of all workers of the machines. */
export async function expectEnd(machines: readonly Machine[]): Promise<void> {
  const [first] = machines;
  const authorization = `Bearer ${(await first!.get("/login")).text}`;
  const cookieOf = async (path: string): Promise<string> =>
    (await fetch(first!.url + path)).headers.getSetCookie()[0]!.split(";", 1)[0]!;
  const cookie = await cookieOf("/visits");
  const opened = await Promise.all(
    machines.flatMap((machine) => [
      machine.sockets("/mine", { authorization }),
      machine.sockets("/session", { cookie }),
    ]),
  );
  const members = opened.filter((_, index) => index % 2 === 0).flat().length;
  await until(async () => (await first!.members("mine")) === members);
  await first!.get("/logout", { authorization });
  await first!.get("/forget", { cookie });
  const closed = await Promise.all(opened.flat().map((socket) => socket.closed));
  expect(new Set(closed.map(({ code }) => code))).toEqual(new Set([1008]));
  await until(async () => (await first!.members("mine")) === 0);
  const cookies = [await cookieOf("/sign-in"), await cookieOf("/sign-in")];
  const sockets = await Promise.all(
    machines.flatMap((machine) => cookies.map((one) => machine.sockets("/session", { cookie: one }))),
  );
  for (const machine of machines) expect((await machine.get("/signed-in")).text).toBe("[1,1]");
  expect((await first!.get("/sign-out-all")).text).toBe('{"ended":2}');
  for (const socket of sockets.flat()) expect((await socket.closed).code).toBe(1008);
  expect((await first!.get("/sign-out-all")).text).toBe('{"ended":0}');
}

/** What a client of the room "hall" knows. */
class Visitor {
  readonly socket: Client;
  readonly members = new Map<string, number>();
  readonly heard: string[] = [];
  #you = "";

  constructor(socket: Client) {
    this.socket = socket;
    void this.#listen();
  }

  /** The process that it is connected to. */
  get pid(): number | undefined {
    return this.members.get(this.#you);
  }

  async #listen(): Promise<void> {
    for (;;) {
      const { present, joined, left, data } = JSON.parse(String(await this.socket.next())) as {
        present?: { you: string; members: { id: string; info: number }[] };
        joined?: { id: string; info: number };
        left?: { id: string };
        data?: string;
      };
      if (present) this.#you = present.you;
      for (const { id, info } of present?.members ?? []) this.members.set(id, info);
      if (joined) this.members.set(joined.id, joined.info);
      if (left) this.members.delete(left.id);
      if (data) this.heard.push(data);
    }
  }
}

/** Visitors of the room "hall" in all workers, when each of them knows all. */
export async function openHall(machines: readonly Machine[]): Promise<Visitor[]> {
  const sockets = await Promise.all(machines.map((machine) => machine.sockets("/hall", {})));
  const visitors = sockets.flat().map((socket) => new Visitor(socket));
  await until(() => visitors.every(({ members }) => members.size === visitors.length));
  return visitors;
}

/** A message reaches all but its sender, and all are told who leaves, in whatever worker they are. */
export async function expectHall(machines: readonly Machine[]): Promise<void> {
  const [leaver, sender, ...others] = await openHall(machines);
  leaver!.socket.ws.close();
  await until(() => [sender!, ...others].every(({ members }) => members.size === others.length + 1));
  sender!.socket.ws.send("from the sender");
  await until(() => others.every(({ heard }) => heard.length === 1));
  others[0]!.socket.ws.send("from another");
  // Messages have one order: the sender would have got its own one first.
  await until(() => sender!.heard.length > 0);
  expect(sender!.heard).toEqual(["from another"]);
  await until(() => others.slice(1).every(({ heard }) => heard.length === 2));
  expect(others.map(({ heard }) => heard.join())).toEqual(
    others.map((_, i) => (i === 0 ? "from the sender" : "from the sender,from another")),
  );
}
