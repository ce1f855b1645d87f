import { Request } from "../../http/request.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type CsrfOptions, CsrfProtection } from "../../middleware/csrf/csrf.js";
import type { FeatureHost, FeatureMethods } from "../feature.js";
import { sessionsOf } from "./sessions.js";

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
    const protection = new CsrfProtection(options);
    // Whether there are sessions is known at the start only: they may be enabled after this.
    if (!this.slots.has(csrfFeature)) {
      this.onPrepare(() => {
        const chosen = this.slots.get(csrfFeature) as CsrfProtection;
        this.addFeature(chosen.middleware(sessionsOf(this), this.env === "production"));
      });
    }
    this.slots.set(csrfFeature, protection);
    return this;
  },
};

Object.defineProperty(Request.prototype, "csrfToken", {
  value(this: Request): string {
    const protection = (this.host as FeatureHost | null)?.slots.get(csrfFeature) as CsrfProtection | undefined;
    if (!protection) throw new Error("request.csrfToken() needs app.enableCsrf({ tokens: true })");
    return protection.token(this);
  },
});
