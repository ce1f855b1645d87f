import type { Queries } from "../../engines/db/database.js";
import type { PlainEvent } from "./event.js";
import type { Snapshots } from "./snapshots.js";
import type { EventStorage } from "./storage/storage.js";
import type { Upcasters } from "./upcasters.js";

/** Events of an aggregate that are read at a time. */
const replayPage = 2000;

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
  for (let archived = false; ; ) {
    const page = await storage.replay(stream, { from: version + 1, limit: replayPage, archived }, within);
    // Earlier events are in the archive, and the snapshot that took their place cannot be used.
    if (!archived && page.length > 0 && page[0]!.version !== version + 1) {
      archived = true;
      continue;
    }
    const events = await upcasters.read(page);
    for (const event of events) {
      if (event.version !== version + 1) throw new Error(`the stream ${stream} has no event ${version + 1}`);
      version = event.version;
    }
    target.apply(events);
    if (page.length < replayPage) return version;
  }
}
