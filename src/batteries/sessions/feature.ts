import type { FeatureHost, FeatureMethods } from "../../feature/feature.js";
import { Request } from "../../http/request.js";
import type { EitherSpelling } from "../../internal/names.js";
import { ValueError } from "../../internal/value-error.js";
import { MemorySessionStore } from "./memory-store.js";
import { type SessionOptions, type SessionSettings, sessionSettings } from "./options.js";
import type { Session } from "./session.js";
import type { Sessions } from "./sessions.js";

export interface SessionsFeature {
  /** Remembers clients between their requests: `request.session`. */
  enableSessions(options: EitherSpelling<SessionOptions>): this;
}

declare module "../../http/request.js" {
  interface RequestSlots {
    /** What is remembered of the client; needs `app.enableSessions()`. */
    readonly session: Session;
  }
}

export const sessionsFeature: FeatureMethods<SessionsFeature> = {
  enableSessions(options) {
    if (this.slots.has(sessionsFeature)) throw new ValueError("enableSessions() has been called already");
    const settings = sessionSettings(options);
    this.assertOpen("enabling sessions");
    const enabled: Enabled = { settings, sessions: null };
    this.slots.set(sessionsFeature, enabled);
    this.onPrepare(async () => {
      this.addFeature((await loaded(this, enabled)).middleware);
      warnOfMemory(this, settings);
    });
    return this;
  },
};

Object.defineProperty(Request.prototype, "session", {
  get(this: Request): Session {
    const sessions = enabledIn(this.host as FeatureHost | null)?.sessions;
    if (!sessions) throw new Error("request.session needs app.enableSessions()");
    return sessions.of(this);
  },
});

interface Enabled {
  readonly settings: SessionSettings;
  /** Null before the start. */
  sessions: Sessions | null;
}

/** The sessions of an application that starts; null when it has none. */
export async function startedSessions(host: FeatureHost): Promise<Sessions | null> {
  const enabled = enabledIn(host);
  return enabled ? loaded(host, enabled) : null;
}

function enabledIn(host: FeatureHost | null): Enabled | undefined {
  return host?.slots.get(sessionsFeature) as Enabled | undefined;
}

/** Whoever asks first, the feature itself or another, makes them for all. */
async function loaded(host: FeatureHost, enabled: Enabled): Promise<Sessions> {
  const { Sessions } = await import("../../app/features/enabled.js");
  return (enabled.sessions ??= new Sessions(enabled.settings, () => host.env === "production"));
}

function warnOfMemory(host: FeatureHost, settings: SessionSettings): void {
  if (!(settings.store instanceof MemorySessionStore)) return;
  if (host.env === "production" || host.settings.workers > 1) {
    host.logger.warn(
      "sessions are kept in the memory of this process: they are lost when it ends, and no other worker knows them",
    );
  }
}
