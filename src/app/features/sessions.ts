import { ValueError } from "../../errors/value-error.js";
import { Request } from "../../http/request.js";
import type { EitherSpelling } from "../../internal/names.js";
import { MemorySessionStore } from "../../middleware/sessions/memory-store.js";
import type { SessionOptions } from "../../middleware/sessions/options.js";
import type { Session } from "../../middleware/sessions/session.js";
import { Sessions } from "../../middleware/sessions/sessions.js";
import type { FeatureHost, FeatureMethods } from "../feature.js";

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
    const sessions = new Sessions(options, () => this.env === "production");
    this.addFeature(sessions.middleware);
    this.slots.set(sessionsFeature, sessions);
    this.onPrepare(() => warnOfMemory(this, sessions));
    return this;
  },
};

Object.defineProperty(Request.prototype, "session", {
  get(this: Request): Session {
    const sessions = sessionsOf(this.host as FeatureHost | null);
    if (!sessions) throw new Error("request.session needs app.enableSessions()");
    return sessions.of(this);
  },
});

/** The sessions of an application; undefined when it has none. */
export function sessionsOf(host: Pick<FeatureHost, "slots"> | null): Sessions | undefined {
  return host?.slots.get(sessionsFeature) as Sessions | undefined;
}

function warnOfMemory(host: FeatureHost, sessions: Sessions): void {
  if (!(sessions.settings.store instanceof MemorySessionStore)) return;
  if (host.env === "production" || host.settings.workers > 1) {
    host.logger.warn(
      "sessions are kept in the memory of this process: they are lost when it ends, and no other worker knows them",
    );
  }
}
