import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import { hostCookieName } from "../../http/fields/cookies.js";
import { notStarted } from "../../kit/before-start.js";
import type { EitherSpelling } from "../../kit/names.js";
import { isPerProcess } from "../../pipeline/shared-stores.js";
import { needsSecretOrStore, type SessionOptions, type SessionSettings, sessionSettings } from "./options.js";
import type { Session } from "./session.js";
import type { Sessions } from "./sessions.js";
import type { SessionStore } from "./store.js";
import type { UserSession } from "./user-session.js";

export interface SessionsFeature {
  /** Keeps state of a client between its requests: `request.session`. */
  enableSessions(options?: EitherSpelling<SessionOptions>): this;
  /**
   * Ends all sessions of a user, in all processes, with their WebSockets and streams: those that began with
   * `request.session.regenerate(user)`. Returns their number.
   */
  endSessions(user: string): Promise<number>;
  /**
   * The sessions of a user, in all processes, the one that was used last first: those that began with
   * `request.session.regenerate(user)`.
   */
  sessionsOf(user: string): Promise<UserSession[]>;
}

declare module "../../http/request.js" {
  interface RequestMembers {
    /** The session of the client; needs `app.enableSessions()`. */
    readonly session: Session;
  }
}

declare module "../../pipeline/shared-stores.js" {
  interface SharedStores {
    sessions: SessionStore;
  }
}

interface State {
  settings: SessionSettings | null;
  /** Null before the start. */
  sessions: Sessions | null;
}

const stateOf = perHost((): State => ({ settings: null, sessions: null }));

export const sessionsFeature = feature<SessionsFeature>({
  name: "sessions",
  setup: {
    enableSessions(host, options) {
      stateOf(host).settings = sessionSettings(options);
    },
  },
  methods: {
    endSessions: async (host, user) => sessionsOf(host, "endSessions()").endAll(user),
    sessionsOf: async (host, user) => sessionsOf(host, "sessionsOf()").listOf(user),
  },
  requestMembers: {
    session(host, request) {
      const { sessions } = stateOf(host);
      if (sessions === null) throw new Error("request.session needs app.enableSessions()");
      return sessions.of(request);
    },
  },
  async prepare(host) {
    const { settings } = stateOf(host);
    if (settings === null) return;
    const sessions = await load(host, settings);
    host.use(sessions.middleware);
  },
  review(host) {
    const { settings, sessions } = stateOf(host);
    const store = sessions?.settings.store ?? null;
    const isLost = store !== null && isPerProcess(store) && host.env === "production";
    return [
      ...(settings?.doubts ?? []),
      isLost && "sessions are kept in the memory of this process and are lost when it ends",
    ];
  },
});

function sessionsOf(host: Host, call: string): Sessions {
  const { sessions, settings } = stateOf(host);
  if (sessions !== null) return sessions;
  throw new Error(settings === null ? `${call} needs app.enableSessions()` : notStarted(call));
}

export function hasSessions(host: Host): boolean {
  return stateOf(host).settings !== null;
}

/** The sessions of an application that starts; null if it has none. */
export async function startedSessions(host: Host): Promise<Sessions | null> {
  const { sessions, settings } = stateOf(host);
  return sessions ?? (settings === null ? null : load(host, settings));
}

async function load(host: Host, settings: SessionSettings): Promise<Sessions> {
  const { Sessions } = await import("./sessions.js");
  const store = settings.secrets.length > 0 ? null : storeOf(host, settings.store);
  const cookieName = cookieNameOf(settings, host.env === "production");
  return (stateOf(host).sessions ??= new Sessions({ ...settings, store, cookieName }, () => host.env === "production"));
}

/** A name that the application chose stays as it is: other programs may read the cookie. */
function cookieNameOf({ named, cookieName, cookie }: SessionSettings, secure: boolean): string {
  return named ? cookieName : hostCookieName(cookieName, { secure, ...cookie });
}

function storeOf(host: Host, given: SessionStore | null): SessionStore {
  return host.store("sessions", {
    holds: "sessions",
    given,
    local: () => {
      throw needsSecretOrStore();
    },
  });
}
