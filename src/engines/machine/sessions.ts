import { MemorySessionStore } from "../../batteries/sessions/memory-store.js";
import type { SessionStore, StoredSession } from "../../batteries/sessions/store.js";
import { unavailable } from "../../errors/unavailable.js";
import type { SupervisorLink } from "../../server/exchange/link.js";
import type { HubService, HubWorker } from "../../server/exchange/service.js";

const service = "sessions";

type SessionMessage =
  | readonly ["limits", limit: number, maxSize: number]
  | readonly ["get" | "destroy", key: string]
  | readonly ["set" | "touch", key: string, session: StoredSession, ttl: number];

/** The sessions of all workers, in the memory of the supervisor. */
export class SessionService implements HubService {
  #store = new MemorySessionStore();
  #isUsed = false;

  hear(_worker: HubWorker, message: SessionMessage): unknown {
    switch (message[0]) {
      case "limits":
        if (!this.#isUsed) this.#store = new MemorySessionStore(message[1], message[2]);
        this.#isUsed = true;
        return undefined;
      case "get":
        return this.#store.get(message[1]);
      case "set":
        return this.#store.set(message[1], message[2], message[3]);
      case "touch":
        return this.#store.touch(message[1], message[2], message[3]);
      case "destroy":
        return this.#store.destroy(message[1]);
    }
  }
}

/** Sessions in the supervisor, up to the limits of the store that the application gave. */
export class MachineSessionStore implements SessionStore {
  readonly #link: SupervisorLink;

  constructor(link: SupervisorLink, given: MemorySessionStore) {
    this.#link = link;
    link.tell(service, ["limits", given.limit, given.maxSize] satisfies SessionMessage);
  }

  async get(key: string): Promise<StoredSession | null> {
    return (await this.#send(["get", key])) as StoredSession | null;
  }

  async set(key: string, session: StoredSession, ttl: number): Promise<void> {
    await this.#send(["set", key, session, ttl]);
  }

  async touch(key: string, session: StoredSession, ttl: number): Promise<void> {
    await this.#send(["touch", key, session, ttl]);
  }

  async destroy(key: string): Promise<void> {
    await this.#send(["destroy", key]);
  }

  #send(message: SessionMessage): Promise<unknown> {
    const weight = message[0] === "set" || message[0] === "touch" ? JSON.stringify(message[2]).length : undefined;
    return this.#link.ask(service, message, weight).catch((cause: unknown) => {
      throw unavailable(cause);
    });
  }
}
