import { afterEach, describe, expect, it, vi } from "vitest";
import { App, hostOf } from "../../../src/app/app.js";
import type { Span, Tracer } from "../../../src/internal/tracer.js";
import { command } from "../../../src/patterns/cqrs/message.js";
import { quiet } from "./stores.js";

const patient = { timeout: 20_000, interval: 10 };

/** A tracer that keeps the names of ended spans, with their error. */
function recordingTracer(): { tracer: Tracer; ended: [name: string, error: unknown][] } {
  const ended: [string, unknown][] = [];
  const tracer: Tracer = {
    start(name) {
      const span: Span = {
        traceId: "0".repeat(32),
        spanId: "0".repeat(16),
        recording: true,
        set: () => span,
        event: () => span,
        rename: () => span,
        run: (work) => work(),
        headers: () => ({}),
        end: (error) => void ended.push([name, error]),
      };
      return span;
    },
  };
  return { tracer, ended };
}

describe("monitoring of events", () => {
  let app: App;
  afterEach(() => app.stop());
  const create = (): App => {
    app = new App();
    app.logger = quiet;
    return app.enableEventSourcing({ storeType: "memory", pollMs: 20 });
  };

  it("Appends, conflicts, handled events and the lag of subscriptions are in the metrics", async () => {
    create().enableMetrics();
    await app.start();
    app.eventStore.subscribe({ name: "mail" }, () => {});
    const { position } = await app.eventStore.append("a-1", [
      { type: "A", data: 1 },
      { type: "A", data: 2 },
    ]);
    await expect(app.eventStore.append("a-1", { type: "A", data: 3 }, { expectedVersion: 0 })).rejects.toThrow();
    expect(await app.eventStore.waitFor("mail", position, { timeoutMs: 20_000 })).toBe(true);
    await vi.waitFor(async () => {
      const text = await (await app.request("/metrics")).text();
      expect(text).toMatch(/events_appended_total 2\n/);
      expect(text).toMatch(/event_conflicts_total 1\n/);
      expect(text).toMatch(/events_handled_total\{subscription="mail"\} 2\n/);
      expect(text).toMatch(/event_subscription_lag\{subscription="mail"\} 0\n/);
      expect(text).toContain('event_batch_duration_seconds_count{subscription="mail"}');
    }, patient);
  });

  it("A handler that keeps failing makes the health of events DEGRADED, and a success ends that", async () => {
    create().enableHealthChecks({ cacheSeconds: 0 } as never);
    let failing = true;
    app.eventStore.subscribe({ name: "mail" }, () => {
      if (failing) throw new Error("no");
    });
    await app.start();
    await app.eventStore.append("a-1", { type: "A", data: 1 });
    const check = async () => {
      const response = await app.request("/health");
      return ((await response.json()) as { checks: Record<string, { status: string }> }).checks["events"]!.status;
    };
    await vi.waitFor(async () => expect(await check()).toBe("DEGRADED"), patient);
    failing = false;
    await vi.waitFor(async () => expect(await check()).toBe("UP"), patient);
  });

  it("Batches of a subscription and commands are spans, with their errors", async () => {
    create().enableCqrs();
    const { tracer, ended } = recordingTracer();
    hostOf(app).tracer = tracer;
    let failures = 1;
    app.eventStore.subscribe({ name: "mail" }, () => {
      if (failures-- > 0) throw new Error("not yet");
    });
    await app.start();
    const add = command("add", { handler: () => app.eventStore.append("a-1", { type: "A", data: 1 }) });
    await app.commands.execute(add, null);
    await vi.waitFor(() => expect(ended.length).toBeGreaterThanOrEqual(3), patient);
    expect(ended.map(([name]) => name).sort()).toEqual(["command add", "process mail", "process mail"]);
    const errors = ended.filter(([name]) => name === "process mail").map(([, error]) => error);
    expect(errors).toEqual([expect.objectContaining({ message: "not yet" }), undefined]);
  });
});
