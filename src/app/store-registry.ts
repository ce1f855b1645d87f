import type { Host } from "../feature/host.js";
import { isPerProcess, type SharedStores, type StoreRequest } from "../pipeline/shared-stores.js";

/** The shared stores of an application, and a note of everything that is kept per process instead. */
export class StoreRegistry {
  readonly #shared: Partial<SharedStores> = {};
  readonly #perProcess = new Set<string>();

  share<Kind extends keyof SharedStores>(kind: Kind, store: SharedStores[Kind]): void {
    this.#shared[kind] = store;
  }

  choose<Kind extends keyof SharedStores>(kind: Kind, request: StoreRequest<SharedStores[Kind]>): SharedStores[Kind] {
    const store = request.given ?? this.#shared[kind] ?? request.local();
    if (isPerProcess(store)) this.#perProcess.add(request.holds);
    return store;
  }

  /** Logs, once for all workers of a server, everything that each of them keeps for itself. */
  async warn(host: Host): Promise<void> {
    const { workers } = host.settings;
    if (this.#perProcess.size === 0 || workers < 2) return;
    const { default: cluster } = await import("node:cluster");
    if (cluster.worker !== undefined && cluster.worker.id !== 1) return;
    const what = [...this.#perProcess].join(", ");
    host.logger.warn(`each of the ${workers} workers has its own ${what}: enable a key-value store to share`);
  }
}
