import type { RecordedEvent } from "../event.js";
import type { EventStore } from "../event-store.js";

/** The part of the store that the page shows. */
export type View =
  | { readonly kind: "all" }
  | { readonly kind: "stream"; readonly stream: string; readonly archived: boolean }
  | { readonly kind: "chain"; readonly correlation: string };

export interface StreamRow {
  readonly stream: string;
  readonly version: number;
  readonly lastType: string;
  readonly recordedAt: Date;
}

export interface SubscriptionRow {
  readonly name: string;
  readonly position: number;
  /** Positions to the newest event. */
  readonly lag: number;
  readonly owner: string | null;
  /** Failures in a row, of those that this process runs. */
  readonly failures: number;
}

/** An event with its distance from the first cause. */
export interface ShownEvent {
  readonly event: RecordedEvent;
  readonly depth: number;
}

export interface Inspection {
  readonly view: View;
  readonly mark: number;
  readonly streams: readonly StreamRow[];
  readonly events: readonly ShownEvent[];
  readonly subscriptions: readonly SubscriptionRow[];
}

/** Events that are searched: a page for developers must not read a whole store. */
const searched = 2000;
const shown = 100;

export async function inspect(store: EventStore, view: View): Promise<Inspection> {
  const { mark, rows } = await subscriptionRows(store);
  const recent = view.kind === "stream" ? [] : await store.readAll({ backwards: true, limit: searched });
  return { view, mark, subscriptions: rows, streams: streamsOf(recent), events: await eventsOf(store, view, recent) };
}

export async function subscriptionRows(store: EventStore): Promise<{ mark: number; rows: SubscriptionRow[] }> {
  const [mark, states] = await Promise.all([store.storage.highWaterMark(), store.storage.subscriptions()]);
  const failures = new Map(store.progress.map((progress) => [progress.name, progress.failures]));
  const rows = states.map(({ name, position, owner }) => ({
    name,
    position,
    lag: Math.max(mark - position, 0),
    owner,
    failures: failures.get(name) ?? 0,
  }));
  return { mark, rows };
}

async function eventsOf(store: EventStore, view: View, recent: readonly RecordedEvent[]): Promise<ShownEvent[]> {
  if (view.kind === "stream") {
    const found = await store.read(view.stream, { backwards: true, limit: shown, archived: view.archived });
    return found.map((event) => ({ event, depth: 0 }));
  }
  if (view.kind === "all") return recent.slice(0, shown).map((event) => ({ event, depth: 0 }));
  const chain = recent.filter(({ metadata }) => metadata.correlationId === view.correlation).reverse();
  return chained(chain.slice(0, shown));
}

/** Events below the one that caused them. */
function chained(events: readonly RecordedEvent[]): ShownEvent[] {
  const known = new Set(events.map(({ id }) => id));
  const effects = new Map<string, RecordedEvent[]>();
  for (const event of events) {
    const { causationId } = event.metadata;
    const cause = causationId !== undefined && causationId !== event.id && known.has(causationId) ? causationId : "";
    effects.set(cause, [...(effects.get(cause) ?? []), event]);
  }
  const list: ShownEvent[] = [];
  const seen = new Set<string>();
  const add = (cause: string, depth: number): void => {
    for (const event of effects.get(cause) ?? []) {
      if (seen.has(event.id)) continue;
      seen.add(event.id);
      list.push({ event, depth });
      add(event.id, depth + 1);
    }
  };
  add("", 0);
  // Events of a circle have no first one.
  for (const event of events) if (!seen.has(event.id)) list.push({ event, depth: 0 });
  return list;
}

function streamsOf(recent: readonly RecordedEvent[]): StreamRow[] {
  const streams = new Map<string, StreamRow>();
  for (const { stream, version, type, recordedAt } of recent) {
    if (!streams.has(stream) && streams.size < shown)
      streams.set(stream, { stream, version, lastType: type, recordedAt });
  }
  return [...streams.values()];
}
