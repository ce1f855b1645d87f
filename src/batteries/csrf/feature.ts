import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { EitherSpelling } from "../../kit/names.js";
import { hasSessions, startedSessions } from "../sessions/feature.js";
import type { CsrfProtection } from "./csrf.js";
import { type CsrfOptions, type CsrfSettings, csrfOptions } from "./options.js";

export interface CsrfFeature {
  /** Refuses requests that a page of another site made the browser send with the user's cookies. */
  enableCsrf(options?: EitherSpelling<CsrfOptions>): this;
}

declare module "../../http/request.js" {
  interface RequestMembers {
    /** A token for a form or a header; needs `app.enableCsrf({ tokens: true })`. */
    csrfToken(): string;
    /** `csrfToken` in snake case. */
    csrf_token(): string;
  }
}

interface State {
  settings: CsrfSettings | null;
  /** Null before the start. */
  protection: CsrfProtection | null;
}

const stateOf = perHost((): State => ({ settings: null, protection: null }));

export const csrfFeature = feature<CsrfFeature>({
  name: "CSRF protection",
  setup: {
    enableCsrf(host, ...given) {
      stateOf(host).settings = csrfOptions.read(given);
    },
  },
  requestMembers: {
    csrfToken: (host, request) => () => {
      const { protection } = stateOf(host);
      if (protection === null) throw new Error("request.csrfToken() needs app.enableCsrf({ tokens: true })");
      return protection.token(request);
    },
  },
  async prepare(host) {
    const state = stateOf(host);
    if (state.settings === null) return;
    const { CsrfProtection } = await import("./csrf.js");
    const sessions = await startedSessions(host);
    state.protection = new CsrfProtection(state.settings, sessions, host.env === "production");
    host.use(state.protection.middleware);
  },
  review(host) {
    const { settings } = stateOf(host);
    const isForCookie = settings?.tokens && (settings.secret ?? settings.cookie) !== undefined;
    return [
      ...csrfOptions.idle(settings),
      isForCookie === true &&
        hasSessions(host) &&
        "options 'secret' and 'cookie' in enableCsrf() have no effect: tokens belong to the sessions",
    ];
  },
});

/** True if requests from pages of other sites are refused. */
export function refusesForgedRequests(host: Host): boolean {
  return stateOf(host).settings !== null;
}
