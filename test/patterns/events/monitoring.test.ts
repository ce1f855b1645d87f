import { afterEach, describe, expect, it, vi } from "vitest";
import { App, hostOf } from "../../../src/app/app.js";
import type { Attributes, Span, Tracer } from "../../../src/kit/tracer.js";
import { command } from "../../../src/patterns/cqrs/message.js";
import type { RecordedEvent } from "../../../src/patterns/events/event.js";
import { EventMonitor } from "../../../src/patterns/events/monitor.js";
import { quiet } from "./stores.js";

const patient = { timeout: 20_000, interval: 10 };

interface EndedSpan {
  readonly name: string;
  readonly attributes: Attributes | undefined;
  readonly kind: string | undefined;
  /** The context of the span itself, of its parent and of its links. */
  readonly context: string;
  readonly parent: string | undefined;
  readonly links: readonly (string | undefined)[];
  readonly error: unknown;
}

/** A tracer that keeps the spans that have ended. Each has a trace of its own. */
function recordingTracer(): { tracer: Tracer; ended: EndedSpan[] } {
  const ended: EndedSpan[] = [];
  let count = 0;
  const tracer: Tracer = {
    start(name, attributes, { kind, from, links = [] } = {}) {
      const context = `00-${String(++count).padStart(32, "0")}-0000000000000001-01`;
      const [parent, linked] = [from?.("traceparent"), links.map((link) => link("traceparent"))];
      const span: Span = {
        traceId: context.slice(3, 35),
        spanId: "0000000000000001",
        recording: true,
        set: () => span,
        event: () => span,
        rename: () => span,
        run: (work) => work(),
        headers: () => ({ traceparent: context, tracestate: "vendor=1", baggage: "user=7" }),
        end: (error) => void ended.push({ name, attributes, kind, context, parent, links: linked, error }),
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
    return app.enableEventSourcing({ storeType: "memory", poll: "20ms" });
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

  it("Commands, appends and handlers of events are spans, and a handler is in the trace of the append, also when it is tried again", async () => {
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
    await vi.waitFor(() => expect(ended).toHaveLength(4), patient);
    expect(ended.map(({ name }) => name).sort()).toEqual(["append a", "command add", "process mail", "process mail"]);
    const append = ended.find(({ name }) => name === "append a")!;
    const [event] = await app.eventStore.read("a-1");
    expect(event!.metadata).toMatchObject({ traceparent: append.context, tracestate: "vendor=1" });
    expect(event!.metadata).not.toHaveProperty("baggage");
    const [first, second] = ended.filter(({ name }) => name === "process mail");
    expect([first!.parent, second!.parent]).toEqual([append.context, append.context]);
    expect([first!.error, second!.error]).toEqual([expect.objectContaining({ message: "not yet" }), undefined]);
    expect(append).toMatchObject({ kind: "producer", attributes: { "messaging.destination.name": "a" } });
    expect(second).toMatchObject({
      kind: "consumer",
      attributes: {
        "messaging.system": "stoa",
        "messaging.operation.type": "process",
        "messaging.destination.name": "a",
        "messaging.destination.subscription.name": "mail",
        "messaging.message.id": event!.id,
      },
    });
    const { attributes } = ended.find(({ name }) => name === "command add")!;
    expect(attributes).toEqual({ "stoa.message.kind": "command", "stoa.message.name": "add" });
  });

  it("A batch of a projection is in the trace of its append, and has links where its events are of several", async () => {
    create();
    const { tracer, ended } = recordingTracer();
    const monitor = new EventMonitor(null, tracer, () => []);
    const contexts = await Promise.all(
      [1, 2].map((count) => monitor.append("a", count, async (trace) => String(trace?.["traceparent"]))),
    );
    const events = [...contexts, contexts[0], undefined].map(
      (traceparent) => ({ metadata: { traceparent } }) as unknown as RecordedEvent,
    );
    await monitor.batch("totals@1.0", events, async () => {});
    await monitor.batch("totals@1.0#2", [events[0]!, events[2]!], async () => {});
    await monitor.batch("totals@1.0", [events[3]!], async () => {});
    const [several, one, none] = ended.slice(2);
    expect(several).toMatchObject({ name: "process totals", parent: undefined, links: contexts });
    expect(one).toMatchObject({ name: "process totals#2", parent: contexts[0], links: [] });
    expect(none).toMatchObject({ parent: undefined, links: [] });
    expect(several!.attributes).toMatchObject({ "messaging.batch.message_count": 4 });
    await app.start();
  });
});
