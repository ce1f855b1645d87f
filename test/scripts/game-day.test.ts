import { once } from "node:events";
import { connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { startTunnel, translatesNumbers } from "../../scripts/chaos/tunnel.mjs";
import { receivedIn } from "../../scripts/game-day/collector.mjs";
import { runGameDay } from "../../scripts/game-day/run.mjs";
import { describeFault, kindsFor, schedule } from "../../scripts/game-day/schedule.mjs";
import { timelineSvg } from "../../scripts/game-day/timeline.mjs";
import { followed, judge, recoveries } from "../../scripts/game-day/verdict.mjs";
import { service } from "../support/service.js";

type Entry = Record<string, unknown>;

/** The first faults of a seed, in words. */
function faultsOf(seed: number, count: number): string[] {
  const found: string[] = [];
  for (const fault of schedule(seed)) {
    if (found.length === count) break;
    found.push(`${fault.wait} ${describeFault(fault)}`);
  }
  return found;
}

/** The verdict on a ledger with one order that went well, and these changes. */
function verdictOn({
  entries = {},
  tables = {},
  faults = [] as Entry[],
  alone = [],
  exported = [],
}: Record<string, unknown> = {}): string[] {
  const ledger: Record<string, Entry[]> = {
    order: [{ id: "o1", broke: false, quantity: 2 }],
    ordered: [{ id: "o1" }],
    ...(entries as object),
  };
  const found = {
    initialStock: 10,
    stock: 8,
    orders: [{ id: "o1", status: "confirmed" }],
    sagas: [{ id: "checkout-o1", status: "completed" }],
    shipments: [{ order_id: "o1" }],
    payments: [{ key: "checkout-o1", refunded: false }],
    mails: [{ subject: "Order o1 is on its way" }],
    events: [{ stream: "order-o1" }, { stream: "order-o1" }],
    ticks: [],
    work: [],
    ...(tables as object),
  };
  const read = (kind: string): Entry[] => (ledger[kind] ?? []).map((entry, time) => ({ time: String(time), ...entry }));
  const given = { read, tables: found, faults, machines: 3, ordered: true, alone, exported };
  return judge(given as never).failures;
}

describe("the schedule of a game day", () => {
  it("A seed gives the same faults each time, another seed others", () => {
    expect(faultsOf(7, 40)).toEqual(faultsOf(7, 40));
    expect(faultsOf(8, 40)).not.toEqual(faultsOf(7, 40));
  });

  it("Each kind of fault happens once before one happens again", () => {
    const count = kindsFor([]).length;
    const found: string[] = [];
    for (const { kind } of schedule(3)) {
      if (found.length === 2 * count) break;
      found.push(kind);
    }
    expect(new Set(found.slice(0, count)).size).toBe(count);
    expect(new Set(found.slice(count)).size).toBe(count);
  });

  it("The collector is hurt alone, and well after the fault before", () => {
    const found = [];
    for (const fault of schedule(5, { can: ["collector"] })) {
      if (found.length === 200) break;
      found.push(fault);
    }
    const places = found.flatMap(({ kind }, place) => (kind.includes("collector") ? [place] : []));
    expect(places.length).toBeGreaterThan(10);
    for (const place of places) {
      expect(found[place]!.wait).toBeGreaterThanOrEqual(12);
      expect([found[place]!.overlaps, found[place + 1]?.overlaps ?? false]).toEqual([false, false]);
    }
    expect(found.some(({ overlaps }) => overlaps)).toBe(true);
  });
});

describe("the tunnel of a machine", () => {
  it("A limit lets so many bytes pass in a second, all of them and in their order", async () => {
    const echo = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
    await once(echo, "listening");
    const tunnel = await startTunnel((echo.address() as { port: number }).port);
    const socket = connect(tunnel.port, "127.0.0.1");
    const sent = Buffer.from(Array.from({ length: 20_000 }, (_, place) => place % 251));
    const send = async (): Promise<{ got: Buffer; seconds: number }> => {
      const began = performance.now();
      socket.write(sent);
      const parts: Buffer[] = [];
      while (parts.reduce((sum, part) => sum + part.length, 0) < sent.length) {
        parts.push((await once(socket, "data"))[0]);
      }
      return { got: Buffer.concat(parts), seconds: (performance.now() - began) / 1000 };
    };
    tunnel.limit(100_000);
    const limited = await send();
    expect(limited.got.equals(sent)).toBe(true);
    expect(limited.seconds).toBeGreaterThan(0.19);
    tunnel.limit(0);
    expect((await send()).got.equals(sent)).toBe(true);
    socket.destroy();
    await tunnel.close();
    echo.close();
  });

  it("Ports in responses become those of tunnels, also where a chunk ends within one", async () => {
    const servers = new Map([[16379, 11111]]);
    const server = createServer((socket) => {
      socket.write("*2\r\n$9\r\n127.0.0.1\r\n$5\r\n163");
      setTimeout(() => socket.write("79\r\n run 16379a 163790\r\n"), 50);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const tunnel = await startTunnel(port, { translate: translatesNumbers(servers) });
    const socket = connect(tunnel.port, "127.0.0.1");
    let text = "";
    while (!text.endsWith("163790\r\n")) text += String((await once(socket, "data"))[0]);
    expect(text).toBe("*2\r\n$9\r\n127.0.0.1\r\n$5\r\n11111\r\n run 16379a 163790\r\n");
    expect(tunnel.responseBytes).toBe(text.length);
    socket.destroy();
    await tunnel.close();
    server.close();
  });
});

describe("the collector of a game day", () => {
  it("Its output tells how many spans and metrics have come, and when", () => {
    const line = (kind: string, rest: string) =>
      `\u001b[2m2026-01-01T00:00:01.500Z\u001b[0m \u001b[32m INFO\u001b[0m Received ${kind}. \u001b[3mdata_type\u001b[0m\u001b[2m=\u001b[0m"${kind}" ${rest}`;
    const output = [
      '\u001b[2m2026-01-01T00:00:00Z\u001b[0m Starting Rotel. http_endpoint="127.0.0.1:1"',
      line("traces", "resource_spans\u001b[2m=\u001b[0m1 \u001b[3mspans\u001b[0m\u001b[2m=\u001b[0m20"),
      line("metrics", "resource_metrics=1 metrics=26"),
      "",
    ].join("\n");
    const at = Date.parse("2026-01-01T00:00:01.500Z");
    expect(receivedIn(output)).toEqual([
      { at, kind: "traces", count: 20 },
      { at, kind: "metrics", count: 26 },
    ]);
  });
});

describe("the verdict on a game day", () => {
  it("A run in which everything went well has no failures", () => {
    expect(verdictOn()).toEqual([]);
  });

  it.each([
    ["confirmed orders that are lost", { tables: { orders: [], sagas: [], shipments: [], payments: [], stock: 10 } }],
    ["orders without a saga", { tables: { sagas: [] } }],
    ["sagas without their end", { tables: { sagas: [{ id: "checkout-o1", status: "running" }] } }],
    ["orders in a wrong state", { tables: { orders: [{ id: "o1", status: "placed" }] } }],
    ["orders that were not shipped once", { tables: { shipments: [{ order_id: "o1" }, { order_id: "o1" }] } }],
    ["payments that do not fit", { tables: { payments: [{ key: "checkout-o1", refunded: true }] } }],
    ["stock", { tables: { stock: 6 } }],
    ["orders without a mail", { tables: { mails: [] } }],
    ["orders without exactly two events", { tables: { events: [{ stream: "order-o1" }] } }],
    ["confirmed messages without an effect", { entries: { ticked: [{ key: "x", number: 1 }] } }],
    ["messages with a second effect", { tables: { ticks: [1, 1].map((number) => ({ key: "x", number })) } }],
    ["messages out of the order", { tables: { ticks: [2, 1].map((number) => ({ key: "x", number })) } }],
    ["confirmed jobs that did not run", { entries: { enqueued: [{ number: 1, id: "j" }] } }],
    ["jobs that are there twice", { tables: { work: ["j", "k"].map((job) => ({ number: 1, job })) } }],
    [
      "jobs that were answered",
      { entries: { enqueued: [{ number: 1, id: "k" }] }, tables: { work: [{ number: 1, job: "j" }] } },
    ],
    ["seen by clients", { entries: { violation: [{ text: "a revoked token was accepted" }] } }],
    ["accepted after their end", { entries: { accepted: [{ what: "a revoked token", from: 5, to: 6 }] } }],
    ["undocumented errors", { entries: { http: [{ op: "order", at: 0, ok: false, status: 500 }] } }],
    ["undocumented errors", { entries: { http: [{ op: "order", at: 0, ok: false, error: "timeout" }] } }],
    [
      "stale pages",
      { entries: { written: [{ key: "p", value: 2, from: 0, to: 0 }], page: [{ key: "p", value: 1, at: 60_000 }] } },
    ],
    [
      "limits that were not kept",
      { entries: { limited: [{ key: "k", from: 0, to: 1, allowed: 11, unknown: 0, limit: 10 }] } },
    ],
    [
      "limits that were not kept",
      { entries: { limited: [{ key: "k", from: 0, to: 1, allowed: 9, unknown: 0, limit: 10 }] } },
    ],
  ])("A failure is found: %s", (name, changes) => {
    expect(verdictOn(changes).join("\n")).toContain(name);
  });

  it("A machine that has logged that it counts alone may exceed a limit, and only then", () => {
    const entries = { limited: [{ key: "k", from: 50_000, to: 50_010, allowed: 18, unknown: 0, limit: 10 }] };
    expect(verdictOn({ entries, alone: [50_005] })).toEqual([]);
    expect(verdictOn({ entries, alone: [1000] })).toEqual(["limits that were not kept: 1, as k: 18 of 10"]);
  });

  it("While machines may be without the store each counts a limit for itself, and no more", () => {
    const limited = (allowed: number, fault: Entry) => ({
      entries: { limited: [{ key: "k", from: 10, to: 20, allowed, unknown: 0, limit: 10 }] },
      faults: [{ begin: 0, end: 15, ...fault }],
    });
    for (const fault of [{ kind: "restart redis" }, { kind: "partition", target: "engines" }]) {
      expect(verdictOn(limited(40, fault))).toEqual([]);
      expect(verdictOn(limited(41, fault))).toHaveLength(1);
    }
    for (const fault of [{ kind: "kill machine" }, { kind: "partition", target: "broker" }]) {
      expect(verdictOn(limited(11, fault))).toHaveLength(1);
    }
  });

  it("What the old primary of Redis confirmed last may be forgotten after a failover, and nothing else", () => {
    const faults = [{ kind: "fail over redis", begin: 1500, end: 9000, lost: { from: 1000, to: 2000 } }];
    const at = (time: number) => ({ from: time - 5, to: time });
    const entries = (time: number) => ({
      accepted: [{ what: "an ended session", ...at(time) }],
      written: [{ key: "p", value: 2, ...at(time) }],
      page: [{ key: "p", value: 1, at: 60_000 }],
      sending: [{ room: "a", n: 1, time: "5" }],
      sent: [{ room: "a", n: 1, ...at(time) }],
      joined: [{ kind: "joined", room: "a", client: "a1", time: "3" }],
    });
    expect(verdictOn({ faults, entries: entries(1500) })).toEqual([]);
    expect(verdictOn({ faults, entries: entries(2500) })).toHaveLength(3);
    expect(verdictOn({ faults: [{ ...faults[0], lost: null }], entries: entries(1500) })).toHaveLength(3);
  });

  it("Requests do not notice that the collector is away, and it gets spans and metrics when it is back", () => {
    const fault = { kind: "freeze collector", name: "freeze collector", begin: 20_000, end: 32_000, back: 30_000 };
    const request = (at: number, ms: number, ok = true) => ({ op: "order", at, ms, ok, status: ok ? 200 : 503 });
    const usual = [request(15_000, 100), request(16_000, 120)];
    const exported = ["traces", "metrics"].map((kind) => ({ kind, at: 31_000, count: 3 }));
    const verdict = (http: Entry[], more: Record<string, unknown> = {}) =>
      verdictOn({ entries: { http: [...usual, ...http] }, faults: [fault], exported, ...more });
    const good = [request(21_000, 130), request(22_000, 90)];
    expect(verdict(good)).toEqual([]);
    expect(verdict([...good, request(23_000, 100, false)]).join()).toContain("failed because of the collector: 1");
    expect(verdict([request(21_000, 5000)]).join()).toContain("slow because of the collector: 1, as 5000 ms");
    expect(verdict([]).join()).toContain("slow because of the collector");
    expect(verdict(good, { exported: exported.slice(1) })).toEqual([
      "nothing was exported: 1, as traces after freeze collector",
    ]);
    // Another fault is near.
    const other = { kind: "restart postgres", begin: 5000, end: 15_000 };
    expect(verdict([request(21_000, 5000, false)], { faults: [fault, other] })).toEqual([]);
  });

  it("Errors of a server that is away are documented", () => {
    const statuses = [{ status: 502 }, { status: 503 }, { status: 504 }, { error: "ECONNRESET" }];
    const http = statuses.map((one) => ({ op: "order", at: 5000, ms: 1, ok: false, ...one }));
    const restartUntil = (end: number) => [{ kind: "restart postgres", begin: 0, end }];
    expect(verdictOn({ entries: { http }, faults: restartUntil(2000) })).toEqual([]);
    for (const faults of [[], restartUntil(-6000), [{ kind: "freeze collector", begin: 0, end: 9000 }]]) {
      expect(verdictOn({ entries: { http }, faults }).join()).toContain("failed far from any fault: 4");
    }
  });

  it("A client of a room is told of each message it did not get", () => {
    const whole = { lost: [], doubled: [], reordered: [] };
    expect(followed([1, 2, 3], [1, 2, 3])).toEqual(whole);
    // 2 was never confirmed: it may be missing, and it may come late.
    expect(followed([1, 3, 2], [1, 3])).toEqual(whole);
    expect(followed([1, "gap", 4], [1, 2, 3, 4])).toEqual(whole);
    expect(followed([1, "gap"], [1, 2])).toEqual(whole);
    expect(followed([1, 4], [1, 2, 3, 4])).toEqual({ ...whole, lost: [2, 3] });
    expect(followed([1], [1, 2])).toEqual({ ...whole, lost: [2] });
    expect(followed([1, 1], [1])).toEqual({ ...whole, doubled: [1] });
    expect(followed([2, 1], [1, 2])).toEqual({ ...whole, reordered: [1] });
  });

  it("Messages from before a client had joined are not expected", () => {
    const room = { room: "a", client: "a1" };
    const entries = {
      sending: [
        { room: "a", n: 1, time: "1" },
        { room: "a", n: 2, time: "5" },
      ],
      sent: [1, 2].map((n) => ({ room: "a", n })),
      joined: [{ ...room, time: "3" }],
    };
    const withKind = (kind: string, list: Entry[]) => list.map((entry) => ({ kind, ...entry }));
    const ledger = { ...entries, joined: withKind("joined", entries.joined) };
    expect(verdictOn({ entries: ledger }).join()).toContain("client a1 of room a lost without a gap: 1, as 2");
    const heard = withKind("heard", [{ ...room, n: 2, time: "6" }]);
    expect(verdictOn({ entries: { ...ledger, heard } })).toEqual([]);
  });

  it("The recovery after a fault is the time until the latency is at most twice the one before all faults", () => {
    const http = [
      { at: 0, ms: 10 },
      { at: 6000, ms: 500 },
      { at: 7000, ms: 500 },
      { at: 8000, ms: 20 },
    ];
    const faults = [{ name: "restart redis", begin: 5000, end: 6000 }];
    expect(recoveries(http, faults)).toEqual([{ name: "restart redis", level: 10, seconds: 3 }]);
    expect(recoveries(http.slice(0, 3), faults)).toEqual([{ name: "restart redis", level: 10, seconds: null }]);
  });

  it("The picture has a bar for each fault", () => {
    const http = [0, 1000, 2000].map((at) => ({ at, ms: 5, ok: at !== 1000 }));
    const faults = [{ name: "kill <m1>", begin: 500, end: 1500 }];
    const svg = timelineSvg({ http, faults, title: "seed 7" });
    expect(svg).toContain("<title>kill &lt;m1></title>");
    expect(svg).toContain("seed 7");
    expect(svg).not.toContain("NaN");
  });
});

const long = process.env["STOA_LONG"] === "1";
const available = long && service("postgres") && service("redis") && service("kafka");

describe.runIf(available)("a game day", () => {
  it("Nothing that was confirmed is lost, doubled or reordered while parts of three machines die", async () => {
    const seed = Number(process.env["STOA_CHAOS_SEED"] ?? Math.floor(Math.random() * 1e9));
    const { failures, counts } = await runGameDay({ seed });
    console.log(`game day, seed ${seed}:`, counts);
    expect(failures).toEqual([]);
  }, 3_600_000);
});
