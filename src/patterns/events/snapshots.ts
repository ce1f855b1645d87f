import type { Queries } from "../../engines/db/database.js";
import type { Logger } from "../../kit/logger.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { isPlainObject } from "../../kit/options.js";
import type { EventStorage, StoredSnapshot } from "./storage/storage.js";

export interface SnapshotSettings {
  readonly enabled: boolean;
  readonly interval: number;
}

/** Writes and checks the snapshots of one kind of aggregate. */
export class Snapshots {
  readonly #schema: string;
  #usable: boolean;

  constructor(
    readonly storage: EventStorage,
    readonly settings: SnapshotSettings,
    readonly logger: Logger,
    readonly category: string,
    version: number,
  ) {
    this.#schema = `${category} ${version}`;
    this.#usable = settings.enabled;
  }

  /** The state and its version; null if there is none, or none that can be trusted. */
  async load(stream: string, within: Queries | undefined): Promise<{ state: unknown; version: number } | null> {
    if (!this.#usable) return null;
    const snapshot = await this.storage.loadSnapshot(stream, within);
    if (snapshot === null || snapshot.schema !== this.#schema) return null;
    if (snapshot.checksum === checksumOf(stream, snapshot)) {
      return { state: JSON.parse(snapshot.state) as unknown, version: snapshot.version };
    }
    this.logger.warn("a snapshot is corrupt and is ignored", { stream, version: snapshot.version });
    return null;
  }

  /** Takes a snapshot if an append has passed a multiple of the interval. Its failure is only logged. */
  take(
    stream: string,
    before: number,
    version: number,
    eventId: string,
    within: Queries | undefined,
    state: () => unknown,
  ): void {
    const { interval } = this.settings;
    if (!this.#usable || Math.floor(before / interval) === Math.floor(version / interval)) return;
    const value = state();
    const wrong = notJson(value, "state");
    if (wrong !== null) {
      this.#usable = false;
      this.logger.warn(`snapshots of '${this.category}' are disabled: ${wrong} is not a plain JSON value`);
      return;
    }
    const unsigned = { version, eventId, schema: this.#schema, state: JSON.stringify(value) };
    const snapshot = { ...unsigned, checksum: checksumOf(stream, unsigned) };
    this.storage.afterCommit(() => void this.#save(stream, snapshot), within);
  }

  async #save(stream: string, snapshot: StoredSnapshot): Promise<void> {
    try {
      await this.storage.saveSnapshot(stream, snapshot);
    } catch (error) {
      this.logger.warn("a snapshot was not saved", { stream, error });
    }
  }
}

function checksumOf(stream: string, { version, eventId, schema, state }: Omit<StoredSnapshot, "checksum">): string {
  const text = [stream, version, eventId, schema, state].join("\n");
  return nodeCrypto().createHash("sha256").update(text).digest("base64url");
}

/** The place of the first value that JSON would change; null if there is none. */
function notJson(value: unknown, place: string): string | null {
  if (value === null || typeof value === "string" || typeof value === "boolean") return null;
  if (typeof value === "number") return Number.isFinite(value) ? null : place;
  if (Array.isArray(value)) return firstOf(value.entries(), (key) => `${place}[${key}]`);
  if (!isPlainObject(value)) return place;
  // A field that is undefined is absent in JSON, and absent again when it is restored.
  return firstOf(
    Object.entries(value).filter(([, item]) => item !== undefined),
    (key) => `${place}.${key}`,
  );
}

function firstOf(
  entries: Iterable<[string | number, unknown]>,
  placeOf: (key: string | number) => string,
): string | null {
  for (const [key, item] of entries) {
    const wrong = notJson(item, placeOf(key));
    if (wrong !== null) return wrong;
  }
  return null;
}
