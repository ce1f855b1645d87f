import { parentLink } from "./parent-link.js";

/** Messages between the workers of one server, through their supervisor. Data travels as JSON. */
export interface WorkerChannel {
  /** True if there are other workers. */
  readonly open: boolean;
  /**
   * Sends to every other worker that serves; a process that serves alone sends to none. Resolves when it is on its
   * way, which matters to a process that is about to exit; never rejects.
   */
  publish(topic: string, data: unknown): Promise<void>;
  /** Calls back with the messages of the others. Returns a function that ends it. */
  subscribe(topic: string, listener: (data: unknown) => void): () => void;
}

/** The topic on which the supervisor tells the ids of workers that do not respond. */
export const silentTopic = "stoa:silent";

/** The topic on which the supervisor tells the routes that are refused. */
export const refusedTopic = "stoa:refused";

/** The topic on which the supervisor gives the keys of session tickets. */
export const ticketKeysTopic = "stoa:ticket-keys";

const listeners = new Map<string, Set<(data: unknown) => void>>();
const link = parentLink?.role === "worker" ? parentLink : null;

export const workerChannel: WorkerChannel = {
  open: link !== null,
  publish(topic, data) {
    return link?.send({ stoa: "publish", topic, data }) ?? Promise.resolve();
  },
  subscribe(topic, listener) {
    if (link && listeners.size === 0) process.on("message", hear);
    const set = listeners.get(topic) ?? new Set();
    listeners.set(topic, set.add(listener));
    return () => {
      set.delete(listener);
      if (set.size === 0) listeners.delete(topic);
      if (listeners.size === 0) process.off("message", hear);
    };
  },
};

function hear(message: unknown): void {
  const { stoa, topic, data } = (message ?? {}) as { stoa?: unknown; topic?: unknown; data?: unknown };
  if (stoa !== "publish" || typeof topic !== "string") return;
  for (const listener of listeners.get(topic) ?? []) listener(data);
}
