import type { HubWorker } from "../../server/worker-messages/service.js";

/** The workers that use a service. */
export class Members {
  readonly #workers = new Set<HubWorker>();

  join(worker: HubWorker): void {
    this.#workers.add(worker);
  }

  leave(worker: HubWorker): void {
    this.#workers.delete(worker);
  }

  /** Asks all but one, and returns the replies when the last one has come. */
  askAll(data: unknown, except?: HubWorker): Promise<unknown[]> {
    const asked = [...this.#workers].filter((worker) => worker !== except);
    return Promise.all(asked.map((worker) => worker.ask(data)));
  }

  /** Tells all but one, without waiting. */
  tellAll(data: unknown, except?: HubWorker): void {
    for (const worker of this.#workers) if (worker !== except) worker.tell(data);
  }
}
