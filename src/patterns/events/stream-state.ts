import type { Queries } from "../../engines/db/database.js";
import type { PlainEvent, RecordedEvent } from "./event.js";
import type { Snapshots } from "./snapshots.js";
import { type EventStorage, pageSize } from "./storage.js";
import type { Upcasters } from "./upcasters.js";

/** Reads a stream to its end, from a snapshot on if there is one; calls back for both. Returns the version. */
export async function replayStream(
  { storage, upcasters, snapshots }: { storage: EventStorage; upcasters: Upcasters; snapshots: Snapshots },
  stream: string,
  within: Queries | undefined,
  target: { restore(state: unknown): void; apply(events: readonly PlainEvent[]): void },
): Promise<number> {
  const snapshot = await snapshots.load(stream, within);
  let version = 0;
  if (snapshot !== null) {
    target.restore(snapshot.state);
    version = snapshot.version;
  }
  for (;;) {
    const page = await storage.readStream(stream, version + 1, false, pageSize, within);
    const events = page.map((event): RecordedEvent => upcasters.apply(event));
    for (const event of events) {
      if (event.version !== version + 1) throw new Error(`the stream ${stream} has no event ${version + 1}`);
      version = event.version;
    }
    target.apply(events);
    if (page.length < pageSize) return version;
  }
}
