import { App } from "stoa";
import { describe, expect, it, vi } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { AppHost } from "../../src/app/host.js";
import { currentHealth } from "../../src/batteries/health/feature.js";
import { metricsFeature } from "../../src/batteries/metrics/feature.js";
import { declareEngine, type EngineDeclaration } from "../../src/engines/engine.js";
import { feature } from "../../src/feature/feature.js";
import { recordingTracer } from "./spans.js";

class Client {
  opened = 0;
  closed = 0;
  alive = true;
  lost: (error: unknown) => void = () => {};
}

type Declaration = EngineDeclaration<string, Client>;

const declaration: Declaration = {
  name: "probe",
  enabledBy: "enableProbe",
  create: () => new Client(),
  async open(client) {
    client.opened++;
  },
  openWithin: () => 60,
  async ping(client) {
    if (!client.alive) throw new Error("no answer");
  },
  async close(client) {
    client.closed++;
  },
};

function hostWith(change: Partial<Declaration> = {}): { host: AppHost; client: Client; lines: string[] } {
  const client = new Client();
  const probe = declareEngine<string, Client>({ ...declaration, create: () => client, ...change });
  const host = new AppHost([feature<object>({ name: "probe", ...probe.stages }), metricsFeature]);
  const lines: string[] = [];
  const note = (message: string): void => void lines.push(message);
  const logger: AppHost["logger"] = { debug() {}, info: note, warn: note, error: note, child: () => logger };
  host.logger = logger;
  expect(() => probe.of(host, "app.probe")).toThrow("app.probe needs app.enableProbe()");
  probe.enable(host, "config");
  expect(() => probe.enable(host, "config")).toThrow("enableProbe has been called already");
  return { host, client, lines };
}

/** Waits for a condition that the event loop brings about. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("an engine", () => {
  it("An engine is opened at the start and closed at the end", async () => {
    const { host, client } = hostWith();
    expect(client.opened).toBe(0);
    await host.start();
    expect([client.opened, client.closed]).toEqual([1, 0]);
    await host.stop();
    expect(client.closed).toBe(1);
  });

  it("An engine that does not open in time ends the start with its name, and is closed", async () => {
    const { host, client } = hostWith({ open: () => new Promise(() => {}), openWithin: () => 0.01 });
    await expect(host.start()).rejects.toThrow("the probe did not open within 0.01 s");
    expect(client.closed).toBe(1);
  });

  it("An engine that is open leaves no timer behind, which would keep the process alive", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { host } = hostWith();
      await host.start();
      expect(vi.getTimerCount()).toBe(0);
      await host.stop();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("An engine that fails to open ends the start with its own error", async () => {
    const { host } = hostWith({ open: () => Promise.reject(new Error("refused by 10.0.0.1")) });
    await expect(host.start()).rejects.toThrow("refused by 10.0.0.1");
  });

  it("An engine is part of the application's health", async () => {
    const { host, client } = hostWith();
    await host.start();
    expect((await currentHealth(host))?.checks["probe"]).toMatchObject({ status: "UP" });
    const dead = hostWith();
    await dead.host.start();
    dead.client.alive = false;
    expect((await currentHealth(dead.host))?.checks["probe"]).toMatchObject({ status: "DOWN" });
    expect(client.alive).toBe(true);
  });

  it("An engine is not healthy before the start, and says why", async () => {
    const { host } = hostWith();
    const health = await currentHealth(host);
    expect(health?.checks["probe"]).toMatchObject({
      status: "DOWN",
      message: expect.stringContaining("was used before the application was started"),
    });
  });

  it("A check of the health before the start does not change the client that is taken then", async () => {
    const member = { answer: 42 };
    const probe = declareEngine<string, Client>(declaration);
    const host = new AppHost([feature<object>({ name: "probe", ...probe.stages })]);
    probe.enable(host, "config");
    await currentHealth(host);
    const early = probe.of(host, "app.probe", () => member);
    await host.start();
    expect(early.answer).toBe(42);
  });

  it("An engine is measured only if metrics are enabled, and its gauges are read at each scrape", async () => {
    const measured: string[] = [];
    const change: Partial<Declaration> = {
      gauges: (client) => ({ opened: { help: "Openings.", read: () => client.opened } }),
      measure: (_client, meter) => void measured.push(meter.named("probe_calls_total")),
    };
    await hostWith(change).host.start();
    expect(measured).toEqual([]);
    const app = new App().enableMetrics();
    const probe = declareEngine<string, Client>({ ...declaration, ...change });
    probe.enable(hostOf(app), "config");
    await probe.stages.prepare(hostOf(app));
    await probe.stages.open(hostOf(app));
    expect(measured).toEqual(["framework_probe_calls_total"]);
    expect(await (await app.request("/metrics")).text()).toContain("\nframework_probe_opened 1\n");
    await app.stop();
  });

  it("An engine records spans only if an exporter is present", async () => {
    const traced: unknown[] = [];
    const trace = (_client: Client, tracer: unknown): void => void traced.push(tracer);
    const plain = hostWith({ trace });
    await plain.host.start();
    expect(traced).toEqual([]);
    const exporting = hostWith({ trace });
    const { tracer } = recordingTracer();
    exporting.host.tracer = tracer;
    await exporting.host.start();
    expect(traced).toEqual([tracer]);
  });

  it("An engine is drained before it is closed", async () => {
    const order: string[] = [];
    const { host } = hostWith({
      drain: async () => void order.push("drain"),
      close: async () => void order.push("close"),
    });
    await host.start();
    await host.stop();
    expect(order).toEqual(["drain", "close"]);
  });
});

describe("a lost connection", () => {
  it("A lost connection is opened again until that succeeds; meanwhile the engine is unhealthy, and one line is logged", async () => {
    let refusals = 0;
    const { host, client, lines } = hostWith({
      async open(opened) {
        opened.opened++;
        if (refusals > 0) {
          refusals--;
          throw new Error("still away");
        }
      },
      onLost(opened, lost) {
        opened.lost = lost;
      },
    });
    await host.start();
    refusals = 2;
    client.lost(new Error("reset by peer"));
    client.lost(new Error("reset by peer"));
    expect((await currentHealth(host))?.checks["probe"]).toMatchObject({ status: "DOWN" });
    await until(() => lines.includes("the probe is connected again"));
    expect(client.opened).toBe(4);
    expect(lines.filter((line) => line === "the connection to the probe is lost")).toHaveLength(1);
    await host.stop();
  });

  it("A lost connection is not opened again once the application ends", async () => {
    const { host, client } = hostWith({
      onLost(opened, lost) {
        opened.lost = lost;
      },
    });
    await host.start();
    client.lost(new Error("reset by peer"));
    await host.stop();
    client.lost(new Error("reset by peer"));
    expect(client.opened).toBe(1);
  });

  it("A connection that opens after the application has ended is closed", async () => {
    let arrive = (): void => {};
    const { host, client, lines } = hostWith({
      open: (opened) => (++opened.opened === 1 ? Promise.resolve() : new Promise((resolve) => (arrive = resolve))),
      onLost(opened, lost) {
        opened.lost = lost;
      },
    });
    await host.start();
    client.lost(new Error("reset by peer"));
    await until(() => client.opened === 2);
    await host.stop();
    expect(client.closed).toBe(1);
    arrive();
    await until(() => client.closed === 2);
    expect(lines).not.toContain("the probe is connected again");
  });

  it("A lost connection is opened again if one attempt never ends", async () => {
    let seconds = 60;
    const { host, client, lines } = hostWith({
      open: (opened) => (++opened.opened === 2 ? new Promise(() => {}) : Promise.resolve()),
      openWithin: () => seconds,
      onLost(opened, lost) {
        opened.lost = lost;
      },
    });
    await host.start();
    seconds = 0.01;
    client.lost(new Error("reset by peer"));
    await until(() => lines.includes("the probe is connected again"));
    expect(client.opened).toBe(3);
    await host.stop();
  });
});

describe("the logger of an engine", () => {
  it("The logger of an engine is the application's, also if that is set after the engine is created", async () => {
    let given: AppHost["logger"] | null = null;
    const { host, lines } = hostWith({
      create(_config, logger) {
        given = logger;
        return new Client();
      },
    });
    await host.start();
    const later: string[] = [];
    host.logger = { ...host.logger, warn: (message) => void later.push(message) };
    given!.warn("slow");
    expect([lines, later]).toEqual([[], ["slow"]]);
    await host.stop();
  });
});
