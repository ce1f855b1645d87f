import type { Host } from "../feature/host.js";
import { isPerProcess, type SharedStores, type StoreExtension, type StoreRequest } from "../pipeline/shared-stores.js";

/** True in the first worker of a server, and in a process that is no worker: the one that logs what is the same in all. */
export async function isFirstWorker(): Promise<boolean> {
  const { default: cluster } = await import("node:cluster");
  return cluster.worker === undefined || cluster.worker.id === 1;
}

/** The shared stores of an application, and a note of everything that is kept per process instead. */
export class StoreRegistry {
  readonly #shared: Partial<SharedStores> = {};
  readonly #extensions: { [Kind in keyof SharedStores]?: StoreExtension<SharedStores[Kind]> } = {};
  readonly #perProcess = new Set<string>();

  share<Kind extends keyof SharedStores>(kind: Kind, store: SharedStores[Kind]): void {
    this.#shared[kind] = store;
  }

  shares(kind: keyof SharedStores): boolean {
    return this.#shared[kind] !== undefined;
  }

  extend<Kind extends keyof SharedStores>(kind: Kind, over: StoreExtension<SharedStores[Kind]>): void {
    const extensions: { [K in Kind]?: StoreExtension<SharedStores[K]> } = this.#extensions;
    extensions[kind] = over;
  }

  store<Kind extends keyof SharedStores>(kind: Kind, request: StoreRequest<SharedStores[Kind]>): SharedStores[Kind] {
    const store = request.given ?? this.#shared[kind] ?? request.local();
    if (!isPerProcess(store)) return store;
    const extend = this.#extensions[kind];
    if (extend !== undefined) return extend(store);
    this.#perProcess.add(request.holds);
    return store;
  }

  fallback<Kind extends keyof SharedStores>(kind: Kind, local: SharedStores[Kind]): SharedStores[Kind] {
    return this.#extensions[kind]?.(local) ?? local;
  }

  /**
   * Logs, once for all workers of a server, everything that each of them keeps for itself. That is so only where another
   * program, such as a process manager, has started the workers.
   */
  async warnOfLocalStores(host: Host): Promise<void> {
    if (this.#perProcess.size === 0 || host.settings.workers < 2) return;
    if (!(await isFirstWorker())) return;
    const what = [...this.#perProcess].join(", ");
    host.logger.warn(
      `each of the ${host.settings.workers} workers has its own ${what}: enable a key-value store to share`,
    );
  }
}
