import { livePageOf } from "../../batteries/live/feature.js";
import { consoleSection } from "../../console/add-section.js";
import { type LiveEntry, type LivePanel, livePanels } from "../../console/panels.js";
import { showLeases } from "../../durable/lease-panel.js";
import { holderOf } from "../../durable/pulse.js";
import { HttpError } from "../../errors/http-error.js";
import type { Host } from "../../feature/host.js";
import type { Query } from "../../http/query.js";
import { joinPaths } from "../../routing/pattern.js";
import type { RecordedEvent } from "./event.js";
import type { EventStore } from "./event-store.js";
import { isName } from "./names.js";

/** Events that are searched: a page for developers must not read a whole store. */
const searched = 2000;
const shown = 100;
/** Characters of a payload that are shown. */
const longestPayload = 20_000;

/** Adds the panels of subscriptions and of their leases, for operators too, and the page of events for developers. */
export function addEventPanels(host: Host, store: EventStore): void {
  showLeases(host, "Subscriptions, projections and the archive", { read: () => store.storage.leases() });
  livePanels(host).add("events", () => subscriptionsPanel(store));
  const live = host.env === "development" ? livePageOf(host) : null;
  if (live !== null) addEventPage(host, live, store);
}

/** Adds the page beside the live page and under its rules, and a link to it. */
function addEventPage(
  host: Host,
  live: { readonly path: string; readonly hosts: readonly string[] },
  store: EventStore,
): void {
  const path = joinPaths(live.path, "/event-store");
  consoleSection(host, {
    title: "Events",
    path,
    hosts: live.hosts,
    filters: [
      { name: "stream", label: "Stream" },
      { name: "archived", label: "with archive", check: true },
    ],
    view: async (query) => ({ panels: await eventPanels(store, query) }),
  });
  livePanels(host).add("events", async () => ({
    ...(await subscriptionsPanel(store)),
    title: "Events",
    link: { label: "Streams and events", href: path },
  }));
}

async function eventPanels(store: EventStore, query: Query): Promise<LivePanel[]> {
  const [stream, correlation] = [nameIn(query, "stream"), nameIn(query, "correlation")];
  const subscriptions = { ...(await subscriptionsPanel(store)), side: true };
  if (stream !== undefined) {
    const archived = query.get("archived") === "1";
    const events = await store.read(stream, { backwards: true, limit: shown, archived });
    return [eventsPanel(`${stream}, newest event first`, events), subscriptions];
  }
  const recent = await store.readAll({ backwards: true, limit: searched });
  if (correlation !== undefined) {
    const chain = recent.filter(({ metadata }) => metadata.correlationId === correlation).reverse();
    return [eventsPanel("Events of the chain, each below its cause", chained(chain.slice(0, shown))), subscriptions];
  }
  const last = new Map<string, RecordedEvent>();
  for (const event of recent) if (!last.has(event.stream) && last.size < shown) last.set(event.stream, event);
  const streams = {
    columns: ["Stream", "Version", "Last event"],
    rows: [...last.values()].map((event) => [linkTo(event.stream, "stream"), event.version, event.type]),
    empty: "There are no streams.",
  };
  return [
    eventsPanel("Newest events", recent.slice(0, shown)),
    subscriptions,
    { title: "Streams with the newest events", tables: [streams], side: true },
  ];
}

function nameIn(query: Query, name: string): string | undefined {
  const text = query.get(name) || undefined;
  if (text !== undefined && !isName(text)) throw new HttpError(400, "No stream can have this name.");
  return text;
}

async function subscriptionsPanel(store: EventStore): Promise<LivePanel> {
  const [mark, states] = await Promise.all([store.storage.highWaterMark(), store.storage.subscriptions()]);
  const failing = new Set(store.progress.filter(({ failures }) => failures > 0).map(({ name }) => name));
  return {
    title: "Subscriptions and projections",
    facts: [
      { label: "Last position", value: mark },
      { label: "Subscriptions", value: states.length },
      ...[...failing].map((name) => ({ label: name, value: "fails", tone: "bad" as const })),
    ],
    tables: [
      {
        columns: ["Name", "Position", "Behind", "Worker"],
        rows: states.map(({ name, position, owner }) => [
          failing.has(name) ? { text: `${name} fails`, tone: "bad" } : name,
          position,
          Math.max(mark - position, 0),
          owner === null ? { text: "none", tone: "warning" } : workerOf(owner),
        ]),
        empty: "There are no subscriptions.",
      },
    ],
  };
}

function workerOf(owner: string): string {
  const { machine, process } = holderOf(owner);
  return `${machine}, process ${process}`;
}

type ShownEvent = RecordedEvent & { readonly depth?: number };

function eventsPanel(title: string, events: readonly ShownEvent[]): LivePanel {
  return { title, entries: events.map(entryOf), empty: "There are no events here." };
}

function entryOf({
  type,
  stream,
  version,
  position,
  id,
  recordedAt,
  metadata,
  data,
  depth = 0,
}: ShownEvent): LiveEntry {
  const { correlationId } = metadata;
  const chain = typeof correlationId === "string" ? [linkTo(correlationId, "correlation", "chain")] : [];
  return {
    title: type,
    links: [linkTo(stream, "stream"), ...chain].map(({ text, href }) => ({ label: text, href })),
    note: `version ${version}, position ${position}, ${recordedAt.toISOString()}, ${id}`,
    depth,
    texts: [payload(data), payload(metadata)],
  };
}

function linkTo(name: string, field: string, text = name): { text: string; href: string } {
  return { text, href: `?${field}=${encodeURIComponent(name.toWellFormed())}` };
}

function payload(value: unknown): string {
  const whole = JSON.stringify(value, null, 2) ?? "null";
  return whole.length > longestPayload ? `${whole.slice(0, longestPayload)}…` : whole;
}

/** Events below the one that caused them, with their distance from the first cause. */
function chained(events: readonly RecordedEvent[]): ShownEvent[] {
  const known = new Set(events.map(({ id }) => id));
  const effects = new Map<string, RecordedEvent[]>();
  for (const event of events) {
    const { causationId } = event.metadata;
    const cause = causationId !== undefined && causationId !== event.id && known.has(causationId) ? causationId : "";
    effects.set(cause, [...(effects.get(cause) ?? []), event]);
  }
  const list = new Map<string, ShownEvent>();
  const add = (cause: string, depth: number): void => {
    for (const event of effects.get(cause) ?? []) {
      if (list.has(event.id)) continue;
      list.set(event.id, { ...event, depth });
      add(event.id, depth + 1);
    }
  };
  add("", 0);
  // Events of a circle have no first one.
  for (const event of events) if (!list.has(event.id)) list.set(event.id, event);
  return [...list.values()];
}
