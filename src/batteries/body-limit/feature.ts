import type { FeatureMethods } from "../../feature/feature.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readCall } from "../../internal/options.js";

export interface BodyLimitOptions {
  /** Bytes that the body of a request may have. Default 10485760. */
  readonly maxSize?: number;
}

export interface BodyLimitFeature {
  /** Answers 413 to bodies over a size, before they are read. A route's `bodyLimit` goes before it. */
  enableBodyLimit(...given: [options?: EitherSpelling<BodyLimitOptions>] | [maxSize: number]): this;
}

const checks: Checks<BodyLimitOptions> = { maxSize: is.integer(0) };

export const bodyLimitFeature: FeatureMethods<BodyLimitFeature> = {
  enableBodyLimit(...given) {
    this.assertOpen("enableBodyLimit()");
    const { maxSize = 10_485_760 } = readCall<BodyLimitOptions>("enableBodyLimit()", given, ["maxSize"], checks);
    // The pipeline holds every body to this, wherever it is read.
    this.bodyLimit = maxSize;
    return this;
  },
};
