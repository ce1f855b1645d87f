import type { EndingListener } from "../../../pipeline/open-authorities.js";
import { KvStoreError } from "../errors.js";
import type { KvStore } from "../kvstore.js";

/** Milliseconds between two attempts to subscribe while the store cannot be reached. */
const retryAfter = 1000;

/** Passes the ids on that any process publishes on a channel. */
export function watchEndings(kv: KvStore, channel: string, listener: EndingListener): void {
  const gap = (): void => listener.gap();
  kv.subscribe(channel, (id) => listener.ended(id), { onGap: gap }).then(gap, (error: unknown) => {
    if (error instanceof KvStoreError && error.code === "CLOSED") return;
    setTimeout(() => watchEndings(kv, channel, listener), retryAfter).unref();
  });
}
