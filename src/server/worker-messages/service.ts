/** A worker, as the supervisor's services see it. */
export interface HubWorker {
  /** Sends a message of about `weight` bytes. It is dropped if the worker does not read; see `HubService.lost`. */
  tell(data: unknown, weight?: number): void;
  /**
   * Asks for a reply. Rejects if there is none in time. A worker that has ended replies undefined: it can do nothing
   * that would be wrong any more.
   */
  ask(data: unknown): Promise<unknown>;
}

/** One kind of state that the supervisor keeps for all workers. */
export interface HubService {
  /** Handles a message of a worker. The result, or that of the promise, is the reply; an error becomes an error there. */
  hear(worker: HubWorker, data: never): unknown;
  /** The worker has ended. */
  leave?(worker: HubWorker): void;
  /**
   * Messages to the worker were dropped, because it did not read for long. The service forgets that the worker has
   * joined; the worker is told, and joins again.
   */
  lost?(worker: HubWorker): void;
}

export type HubServices = Readonly<Record<string, HubService>>;
