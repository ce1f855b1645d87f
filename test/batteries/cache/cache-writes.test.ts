import { App } from "stoa";
import { expect, it, onTestFinished, vi } from "vitest";
import { MemoryCacheStore } from "../../../src/batteries/cache/memory-store.js";
import { ask, silent } from "./cached-app.js";

/** A store that keeps responses only when it is told to. */
class SlowStore extends MemoryCacheStore {
  readonly writes: (() => void)[] = [];

  override put(...entry: Parameters<MemoryCacheStore["put"]>): never {
    return new Promise((resolve, reject) => {
      this.writes.push(() => (entry[1].includes("/broken") ? reject(new Error("full")) : resolve(super.put(...entry))));
    }) as never;
  }
}

function slow() {
  const store = new SlowStore(1e9);
  const runs: string[] = [];
  const app = new App().enableCaching({ store, maxEntrySize: 32 * 1024 * 1024 });
  app.logger = silent;
  const handler = ({ path }: { path: string }): string => {
    runs.push(path);
    return path.startsWith("/large") ? "x".repeat(17 * 1024 * 1024) : "ok";
  };
  app.get("/async/{name}", async (request) => handler(request));
  app.get("/{name}", handler);
  app.post("/{name}", () => "changed");
  return { app, store, runs };
}

it.each(["/sync", "/async/a"])("A response of %s is sent before it is stored, and others wait for it", async (path) => {
  const { app, store, runs } = slow();
  expect(await ask(app, path)).toBe("MISS ok");
  const second = ask(app, path);
  await new Promise(setImmediate);
  store.writes[0]!();
  expect(await second).toBe("HIT ok");
  expect(await ask(app, path)).toBe("HIT ok");
  expect(runs).toEqual([path]);
});

it("A response that is invalidated before it is stored is not stored", async () => {
  const { app, store, runs } = slow();
  expect(await ask(app, "/a")).toBe("MISS ok");
  expect((await app.request("/a", { method: "POST" })).status).toBe(200);
  store.writes[0]!();
  expect(await ask(app, "/a")).toBe("MISS ok");
  expect(runs).toEqual(["/a", "/a"]);
});

it("A response that cannot be stored harms nothing", async () => {
  const { app, store } = slow();
  expect(await ask(app, "/broken")).toBe("MISS ok");
  store.writes[0]!();
  // An unhandled rejection would fail the run.
  await new Promise(setImmediate);
  expect(await ask(app, "/broken")).toBe("MISS ok");
});

it("The end of the application waits until responses are stored", async () => {
  const { app, store } = slow();
  await ask(app, "/a");
  let stopped = false;
  const stopping = app.stop().then(() => {
    stopped = true;
  });
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  expect(stopped).toBe(false);
  store.writes[0]!();
  await stopping;
  expect(store.size).toBeGreaterThan(0);
});

it("The end of the application does not wait forever for a store that never replies", async () => {
  const { app } = slow();
  await ask(app, "/a");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let stopped = false;
  void app.stop().then(() => {
    stopped = true;
  });
  for (let i = 0; i < 20 && !stopped; i++) {
    await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(stopped).toBe(true);
});

it("A response waits for its store while that is far behind, so that memory is bounded", async () => {
  const { app, store } = slow();
  let sent = false;
  const large = ask(app, "/large").then(() => {
    sent = true;
  });
  await vi.waitFor(() => expect(store.writes).toHaveLength(1), { timeout: 20_000 });
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
  expect(sent).toBe(false);
  store.writes[0]!();
  await large;
  // The store has caught up.
  expect(await ask(app, "/small")).toBe("MISS ok");
});
