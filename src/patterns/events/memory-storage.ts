import { categoryOf, type EventMetadata } from "./event.js";
import type {
  AppendOutcome,
  Claim,
  EventStorage,
  EventToStore,
  ReadFilter,
  StoredEvent,
  StoredSnapshot,
} from "./storage.js";

/** Events in the memory of one process, for development and tests. They end with the process and have no transactions. */
export class MemoryStorage implements EventStorage {
  readonly #all: StoredEvent[] = [];
  readonly #streams = new Map<string, StoredEvent[]>();
  readonly #ids = new Map<string, StoredEvent>();
  readonly #snapshots = new Map<string, StoredSnapshot>();
  readonly #claims = new Map<string, { token: number; position: number; until: number }>();
  readonly #listeners = new Set<() => void>();

  async open(): Promise<void> {}
  async close(): Promise<void> {}

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async append(stream: string, expected: number, events: readonly EventToStore[]): Promise<AppendOutcome> {
    const before = this.#streams.get(stream) ?? [];
    const version = before.length;
    const known = events.map(({ id }) => this.#ids.get(id)).filter((event) => event !== undefined);
    if (known.length > 0) {
      const all = known.length === events.length && known.every((event) => event.stream === stream);
      const last = known.at(-1)!;
      return all
        ? { outcome: "known", version: last.version, position: last.position }
        : { outcome: "mixed", version, position: 0 };
    }
    if ((expected >= 0 && expected !== version) || (expected === -2 && version === 0)) {
      return { outcome: "conflict", version, position: 0 };
    }
    for (const { id, type, schemaVersion, data, metadata } of events) {
      const event: StoredEvent = {
        id,
        stream,
        category: categoryOf(stream),
        version: before.length + 1,
        position: this.#all.length + 1,
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
    return { outcome: "stored", version: before.length, position: this.#all.length };
  }

  async readStream(stream: string, from: number, backwards: boolean, limit: number): Promise<StoredEvent[]> {
    const events = this.#streams.get(stream) ?? [];
    if (!backwards) return copies(events.slice(Math.max(from - 1, 0)).slice(0, limit));
    return copies(events.slice(0, Math.max(from, 0)).reverse().slice(0, limit));
  }

  async readAll(
    { categories, types }: ReadFilter,
    from: number,
    upTo: number,
    backwards: boolean,
    limit: number,
  ): Promise<StoredEvent[]> {
    const range = this.#all.slice(Math.max(from, 0), Math.max(upTo, 0));
    if (backwards) range.reverse();
    const found = range.filter(
      (event) =>
        (categories === undefined || categories.includes(event.category)) &&
        (types === undefined || types.includes(event.type)),
    );
    return copies(found.slice(0, limit));
  }

  async streamVersion(stream: string): Promise<number> {
    return this.#streams.get(stream)?.length ?? 0;
  }

  async highWaterMark(): Promise<number> {
    return this.#all.length;
  }

  async loadSnapshot(stream: string): Promise<StoredSnapshot | null> {
    return this.#snapshots.get(stream) ?? null;
  }

  async saveSnapshot(stream: string, snapshot: StoredSnapshot): Promise<void> {
    this.#snapshots.set(stream, snapshot);
  }

  afterCommit(run: () => void): void {
    run();
  }

  async claim(name: string, _owner: string, leaseMs: number, start: number): Promise<Claim | null> {
    const held = this.#claims.get(name);
    const now = performance.now();
    if (held !== undefined && held.until > now) return null;
    const claim = { token: (held?.token ?? 0) + 1, position: held?.position ?? start, until: now + leaseMs };
    this.#claims.set(name, claim);
    return { token: claim.token, position: claim.position };
  }

  async renew(name: string, token: number, leaseMs: number): Promise<boolean> {
    const held = this.#held(name, token);
    if (held !== null) held.until = performance.now() + leaseMs;
    return held !== null;
  }

  async advance(name: string, token: number, position: number): Promise<boolean> {
    const held = this.#held(name, token);
    if (held !== null) held.position = position;
    return held !== null;
  }

  async release(name: string, token: number): Promise<void> {
    const held = this.#held(name, token);
    if (held !== null) held.until = 0;
    this.#tell();
  }

  async checkpoint(name: string): Promise<number | null> {
    return this.#claims.get(name)?.position ?? null;
  }

  #held(name: string, token: number): { position: number; until: number } | null {
    const held = this.#claims.get(name);
    return held?.token === token ? held : null;
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A reader that changes what it was given must not change the store. */
function copies(events: readonly StoredEvent[]): StoredEvent[] {
  return events.map((event) => ({ ...event, data: structuredClone(event.data), metadata: { ...event.metadata } }));
}
