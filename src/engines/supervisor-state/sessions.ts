import { MemorySessionStore } from "../../batteries/sessions/memory-store.js";
import type { OwnedSessions, SessionStore, StoredSession } from "../../batteries/sessions/store.js";
import { unavailable } from "../../errors/paced.js";
import { type Check, is } from "../../kit/options.js";
import type { EndingListener } from "../../pipeline/open-authorities.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";
import type { HubWorker } from "../../server/worker-messages/service.js";
import { Caller, call, callService, objectWith } from "./calls.js";
import { Members } from "./members.js";

/** The store reads the owner alone. */
const storedSession = objectWith<Pick<StoredSession, "data" | "owner">>({
  data: is.object,
  owner: is.either(is.string, is.oneOf(undefined)),
}) as Check<StoredSession>;

/** The sessions of all workers, in the memory of the supervisor. */
export function sessionService() {
  // Sessions of a feature, whose keys have a prefix, are kept apart: they do not displace those of users.
  let [users, features] = [new MemorySessionStore(), new MemorySessionStore()];
  let isUsed = false;
  const of = (key: string): MemorySessionStore => (key.includes(":") ? features : users);
  /** The workers with WebSockets or streams that end with their session. */
  const members = new Members();
  const calls = {
    watch: (worker: HubWorker) => members.join(worker),
    limits: call([is.integer(1), is.integer(1)], (_, limit, maxSize) => {
      if (!isUsed) [users, features] = [new MemorySessionStore(limit, maxSize), new MemorySessionStore(limit, maxSize)];
      isUsed = true;
    }),
    get: call([is.string], (_, key) => of(key).get(key)),
    set: call([is.string, storedSession, is.number()], (_, key, session, ttl) => of(key).set(key, session, ttl)),
    touch: call([is.string, storedSession, is.number()], (_, key, session, ttl) => of(key).touch(key, session, ttl)),
    destroy: call([is.string], (_, key) => {
      const was = of(key).destroy(key);
      members.tellAll(key);
      return was;
    }),
    list: call([is.string], (_, owner) => users.list(owner)),
    destroyAll: call([is.string], (_, owner) => {
      const keys = users.destroyAll(owner);
      for (const key of keys) members.tellAll(key);
      return keys;
    }),
  };
  return callService(calls, (worker) => members.leave(worker));
}

/** Sessions in the supervisor, up to the limits of the store that the application gave. */
export class SupervisedSessionStore implements SessionStore {
  readonly #link: SupervisorLink;
  readonly #sessions: Caller<ReturnType<typeof sessionService>>;

  constructor(link: SupervisorLink, given: MemorySessionStore) {
    this.#link = link;
    this.#sessions = new Caller(link, "sessions");
    this.#sessions.tell("limits", given.limit, given.maxSize);
  }

  get(key: string): Promise<StoredSession | null> {
    return available(this.#sessions.ask("get", [key]));
  }

  set(key: string, session: StoredSession, ttl: number): Promise<void> {
    return available(this.#sessions.ask("set", [key, session, ttl], JSON.stringify(session).length));
  }

  touch(key: string, session: StoredSession, ttl: number): Promise<void> {
    return available(this.#sessions.ask("touch", [key, session, ttl], JSON.stringify(session).length));
  }

  destroy(key: string): Promise<boolean> {
    return available(this.#sessions.ask("destroy", [key]));
  }

  destroyAll(owner: string): Promise<readonly string[]> {
    return available(this.#sessions.ask("destroyAll", [owner]));
  }

  list(owner: string): Promise<OwnedSessions> {
    return available(this.#sessions.ask("list", [owner]));
  }

  watch(listener: EndingListener): void {
    const join = (): void => {
      this.#sessions.request("watch", [], () => listener.gap());
    };
    this.#link.serve("sessions", { hear: (key: string) => listener.ended(key), resync: join });
    join();
  }
}

async function available<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (cause) {
    throw unavailable(cause);
  }
}
