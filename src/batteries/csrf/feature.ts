import { type FeatureHost, type FeatureMethods, slot } from "../../feature/feature.js";
import { Request } from "../../http/request.js";
import type { EitherSpelling } from "../../internal/names.js";
import { startedSessions } from "../sessions/feature.js";
import type { CsrfProtection } from "./csrf.js";
import { type CsrfOptions, type CsrfSettings, csrfSettings } from "./options.js";

export interface CsrfFeature {
  /** Refuses requests that a page of another site made the browser send with the user's cookies. */
  enableCsrf(options?: EitherSpelling<CsrfOptions>): this;
}

declare module "../../http/request.js" {
  interface RequestSlots {
    /** A token for a form or a header; needs `app.enableCsrf({ tokens: true })`. */
    csrfToken(): string;
  }
}

export const csrfFeature: FeatureMethods<CsrfFeature> = {
  enableCsrf(options) {
    this.assertOpen("enableCsrf()");
    const settings = csrfSettings(options);
    const enabled = slot<Enabled>(this, csrfFeature, () => {
      this.onPrepare(() => startProtection(this, enabled));
      return { settings, protection: null };
    });
    enabled.settings = settings;
    return this;
  },
};

interface Enabled {
  settings: CsrfSettings;
  /** Null before the start. */
  protection: CsrfProtection | null;
}

/** Whether there are sessions is known at the start only: they may be enabled after this. */
async function startProtection(host: FeatureHost, enabled: Enabled): Promise<void> {
  const { CsrfProtection } = await import("../../app/features/enabled.js");
  const sessions = await startedSessions(host);
  enabled.protection = new CsrfProtection(enabled.settings, sessions, host.env === "production");
  host.addFeature(enabled.protection.middleware);
}

Object.defineProperty(Request.prototype, "csrfToken", {
  value(this: Request): string {
    const enabled = (this.host as FeatureHost | null)?.slots.get(csrfFeature) as Enabled | undefined;
    if (!enabled?.protection) throw new Error("request.csrfToken() needs app.enableCsrf({ tokens: true })");
    return enabled.protection.token(this);
  },
});
