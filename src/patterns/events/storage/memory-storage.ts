import type { ShownLease } from "../../../durable/lease-panel.js";
import { categoryOf, type EventMetadata } from "../event.js";
import type {
  AppendOutcome,
  Claim,
  EventStorage,
  EventToStore,
  FinishedPart,
  FinishedStreams,
  ReadFilter,
  StoredEvent,
  StoredSnapshot,
  StreamRange,
  SubscriptionState,
} from "./storage.js";

interface MemoryClaim {
  readonly token: number;
  position: number;
  readonly owner: string;
  readonly since: Date;
  /** By the clock that only moves forward. */
  until: number;
}

/** Events in the memory of one process, for development and tests. They end with the process and have no transactions. */
export class MemoryStorage implements EventStorage {
  #all: StoredEvent[] = [];
  #position = 0;
  readonly #archived = new Set<StoredEvent>();
  readonly #streams = new Map<string, StoredEvent[]>();
  readonly #ids = new Map<string, StoredEvent>();
  readonly #snapshots = new Map<string, StoredSnapshot>();
  /** Streams that keep no snapshot, with the end of that time on the monotonic clock. */
  readonly #forbidden = new Map<string, number>();
  readonly #claims = new Map<string, MemoryClaim>();
  readonly #listeners = new Set<() => void>();

  async open(): Promise<void> {}
  async close(): Promise<void> {}

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async append(stream: string, expected: number, events: readonly EventToStore[]): Promise<AppendOutcome> {
    const before = this.#streams.get(stream) ?? [];
    const version = before.at(-1)?.version ?? 0;
    const known = events.map(({ id }) => this.#ids.get(id)).filter((event) => event !== undefined);
    if (known.length > 0) {
      const all = known.length === events.length && known.every((event) => event.stream === stream);
      const last = known.at(-1)!;
      return all
        ? { outcome: "known", version: last.version, position: last.position }
        : { outcome: "mixed", version, position: 0 };
    }
    if (before.length > 0 && this.#archived.has(before.at(-1)!)) return { outcome: "archived", version, position: 0 };
    if ((expected >= 0 && expected !== version) || (expected === -2 && version === 0)) {
      return { outcome: "conflict", version, position: 0 };
    }
    let added = 0;
    for (const { id, type, schemaVersion, data, metadata } of events) {
      const event: StoredEvent = {
        id,
        stream,
        category: categoryOf(stream),
        version: version + ++added,
        position: ++this.#position,
        type,
        schemaVersion,
        data: JSON.parse(data),
        metadata: JSON.parse(metadata) as EventMetadata,
        recordedAt: new Date(),
      };
      before.push(event);
      this.#all.push(event);
      this.#ids.set(id, event);
    }
    this.#streams.set(stream, before);
    this.#tell();
    return { outcome: "stored", version: version + added, position: this.#position };
  }

  async readStream(stream: string, { from, backwards, limit, archived, at }: StreamRange): Promise<StoredEvent[]> {
    const events = (this.#streams.get(stream) ?? []).filter((event) => archived || !this.#archived.has(event));
    const found = events
      .filter(({ version }) => (backwards ? version <= from : version >= from))
      .filter(({ recordedAt }) => at === undefined || recordedAt <= at);
    if (backwards) found.reverse();
    return copies(found.slice(0, limit));
  }

  replay(stream: string, range: StreamRange): Promise<StoredEvent[]> {
    return this.readStream(stream, range);
  }

  async readAll(
    { categories, types, archived, shard }: ReadFilter,
    from: number,
    upTo: number,
    backwards: boolean,
    limit: number,
  ): Promise<StoredEvent[]> {
    const range = this.#all.slice(firstAbove(this.#all, from), firstAbove(this.#all, upTo));
    if (backwards) range.reverse();
    const found = range.filter(
      (event) =>
        (archived || !this.#archived.has(event)) &&
        (categories === undefined || categories.includes(event.category)) &&
        (types === undefined || types.includes(event.type)) &&
        (shard === undefined || hashOf(event.stream) % shard.of === shard.number),
    );
    return copies(found.slice(0, limit));
  }

  async streamVersion(stream: string): Promise<number> {
    return this.#streams.get(stream)?.findLast((event) => !this.#archived.has(event))?.version ?? 0;
  }

  async highWaterMark(): Promise<number> {
    return this.#position;
  }

  async archive(stream: string): Promise<number> {
    this.#snapshots.delete(stream);
    return this.#move(stream, () => true);
  }

  async restore(stream: string): Promise<number> {
    const events = (this.#streams.get(stream) ?? []).filter((event) => this.#archived.delete(event));
    return events.length;
  }

  async truncate(stream: string, before: number, keep: boolean): Promise<number> {
    const last = this.#streams.get(stream)?.at(-1)?.version ?? 0;
    const old = ({ version }: StoredEvent): boolean => version < Math.min(before, last);
    if (keep) return this.#move(stream, old);
    const gone = new Set((this.#streams.get(stream) ?? []).filter((event) => old(event) && !this.#archived.has(event)));
    this.#all = this.#all.filter((event) => !gone.has(event));
    this.#streams.set(
      stream,
      (this.#streams.get(stream) ?? []).filter((event) => !gone.has(event)),
    );
    for (const { id } of gone) this.#ids.delete(id);
    return gone.size;
  }

  async finished({ category, after, closedBy }: FinishedStreams): Promise<FinishedPart> {
    const before = Date.now() - after * 1000;
    const lasts = [...this.#streams.values()].map((events) => events.at(-1)!);
    const streams = lasts
      .filter((event) => event.category === category && event.recordedAt.getTime() < before)
      .filter((event) => !this.#archived.has(event) && (closedBy === undefined || closedBy.includes(event.type)))
      .map(({ stream }) => stream);
    return { streams, upTo: 0, end: true };
  }

  async loadSnapshot(stream: string): Promise<StoredSnapshot | null> {
    return this.#snapshots.get(stream) ?? null;
  }

  async forbidSnapshots(streams: readonly string[]): Promise<void> {
    for (const stream of streams) {
      this.#snapshots.delete(stream);
      this.#forbidden.set(stream, performance.now() + 3_600_000);
    }
  }

  async saveSnapshot(stream: string, snapshot: StoredSnapshot): Promise<void> {
    if ((this.#forbidden.get(stream) ?? 0) > performance.now()) return;
    this.#forbidden.delete(stream);
    this.#snapshots.set(stream, snapshot);
  }

  afterCommit(run: () => void): void {
    run();
  }

  async claim(name: string, owner: string, leaseMs: number, start: number): Promise<Claim | null> {
    const held = this.#claims.get(name);
    const now = performance.now();
    if (held !== undefined && held.until > now) return null;
    const [token, position] = [(held?.token ?? 0) + 1, held?.position ?? start];
    this.#claims.set(name, { token, position, owner, since: new Date(), until: now + leaseMs });
    return { token, position };
  }

  async renew(name: string, token: number, leaseMs: number): Promise<boolean> {
    const held = this.#held(name, token);
    if (held !== null) held.until = performance.now() + leaseMs;
    return held !== null;
  }

  async advance(name: string, token: number, position: number): Promise<boolean> {
    const held = this.#held(name, token);
    if (held !== null) held.position = Math.max(held.position, position);
    return held !== null;
  }

  async noteHandled(name: string, from: number, position: number): Promise<void> {
    const claim = this.#claims.get(name);
    if (claim !== undefined && claim.position >= from) claim.position = Math.max(claim.position, position);
  }

  async release(name: string, token: number): Promise<void> {
    const held = this.#held(name, token);
    if (held !== null) held.until = 0;
    this.#tell();
  }

  async checkpoint(name: string): Promise<number | null> {
    return this.#claims.get(name)?.position ?? null;
  }

  async subscriptions(prefix = ""): Promise<SubscriptionState[]> {
    const states = [...this.#claims].map(([name, { position, owner, until }]) => ({
      name,
      position,
      owner: until > performance.now() ? owner : null,
    }));
    return states.filter(({ name }) => name !== "archive:policies" && name.startsWith(prefix));
  }

  async leases(): Promise<readonly ShownLease[]> {
    const now = performance.now();
    const held = [...this.#claims].filter(([, { until }]) => until > now);
    return held.map(([name, { owner, since, until }]): ShownLease => {
      return { name, id: null, owner, since, until: new Date(Date.now() + until - now), state: "held" };
    });
  }

  #move(stream: string, which: (event: StoredEvent) => boolean): number {
    const events = (this.#streams.get(stream) ?? []).filter((event) => which(event) && !this.#archived.has(event));
    for (const event of events) this.#archived.add(event);
    return events.length;
  }

  #held(name: string, token: number): MemoryClaim | null {
    const held = this.#claims.get(name);
    return held?.token === token ? held : null;
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A number of 20 bits for a name. */
function hashOf(name: string): number {
  let hash = 0;
  for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) & 1048575;
  return hash;
}

/** A reader that changes what it was given must not change the store. */
function copies(events: readonly StoredEvent[]): StoredEvent[] {
  return events.map((event) => ({ ...event, data: structuredClone(event.data), metadata: { ...event.metadata } }));
}

/** The index of the first event above a position; events are in the order of their positions. */
function firstAbove(events: readonly StoredEvent[], position: number): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle]!.position > position) high = middle;
    else low = middle + 1;
  }
  return low;
}
