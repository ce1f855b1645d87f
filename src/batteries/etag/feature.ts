import { type FeatureMethods, replaceFeature } from "../../feature/feature.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type EtagOptions, etag } from "./etag.js";

export interface EtagFeature {
  /** Gives bodies an ETag, and answers 304 where If-None-Match holds it. */
  enableEtag(options?: EitherSpelling<EtagOptions>): this;
}

export const etagFeature: FeatureMethods<EtagFeature> = {
  enableEtag(options) {
    replaceFeature(this, etagFeature, etag(options));
    return this;
  },
};
