import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { App } from "../../../src/app/app.js";
import { compiled } from "../../support/compiled.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { makePlace, type Place } from "./stores.js";

const server = service("postgres");
const rounds = isLong ? 10 : 1;
const program = join(import.meta.dirname, "appending-process.ts");

describe.skipIf(!server)("a process that is killed while it appends", () => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace("postgres", server);
    app = await place.start();
  });
  afterAll(() => place.drop());

  it("No acknowledged append is lost, none is doubled or in parts, and subscribers see each event once, in order", {
    timeout: 600_000,
  }, async () => {
    const seen: { position: number; stream: string; version: number }[] = [];
    app.eventStore.subscribe({ name: "ledger", categories: ["crash"] }, (event) => seen.push(event));
    const acknowledged = new Map<string, number>();
    for (let round = 0; round < rounds; round++) {
      const writers = [0, 1, 2].map((number) => start(place.url, `${round * 3 + number}`, acknowledged));
      // Killed in the middle of their work: each has had some acknowledged, and continues.
      const enough = 20 + round * 7;
      await vi.waitFor(() => expect(writers.every(({ count }) => count() >= enough)).toBe(true), {
        timeout: 60_000,
        interval: 3,
      });
      for (const { child } of writers) child.kill("SIGKILL");
      await Promise.all(
        writers.map(({ child }) => (child.exitCode === null && child.signalCode === null ? once(child, "exit") : null)),
      );
    }
    const last = await app.eventStore.append("crash-end", { type: "End", data: null });
    expect(await app.eventStore.waitFor("ledger", last.position, { timeoutMs: 60_000 })).toBe(true);

    const all = await app.eventStore.readCategory("crash");
    const appends = new Map<string, number[]>();
    for (const { type, data, version } of all) {
      if (type !== "E") continue;
      const { writer, n, part } = data as { writer: string; n: number; part: number };
      const key = `${writer} ${n}`;
      const versions = appends.get(key) ?? [];
      expect(versions.length).toBe(part);
      appends.set(key, [...versions, version]);
    }
    for (const versions of appends.values()) {
      expect(versions.map((version) => version - versions[0]!)).toEqual([0, 1, 2]);
    }
    for (const [key, version] of acknowledged) expect(appends.get(key)?.at(-1)).toBe(version);
    expect(acknowledged.size).toBeGreaterThanOrEqual(rounds * 60);
    expect(seen.map(({ position }) => position)).toEqual(all.map(({ position }) => position));
  });
});

function start(
  url: string,
  writer: string,
  acknowledged: Map<string, number>,
): { child: ChildProcess; count(): number } {
  const child = spawn(process.execPath, [compiled(program), url, writer], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let count = 0;
  let rest = "";
  child.stdout!.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const [n, version] = JSON.parse(line) as [number, number];
      acknowledged.set(`${writer} ${n}`, version);
      count++;
    }
  });
  return { child, count: () => count };
}
