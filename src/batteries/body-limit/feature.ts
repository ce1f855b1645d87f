import { feature } from "../../feature/feature.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readCall } from "../../internal/options.js";

export interface BodyLimitOptions {
  /** Largest request body in bytes. Default 10485760. */
  readonly maxSize?: number;
}

export interface BodyLimitFeature {
  /** Refuses larger request bodies with 413, before they are read. A route's `bodyLimit` overrides it. */
  enableBodyLimit(maxSizeOrOptions?: number | EitherSpelling<BodyLimitOptions>): this;
}

const checks: Checks<BodyLimitOptions> = { maxSize: is.integer(0) };

export const bodyLimitFeature = feature<BodyLimitFeature>({
  name: "body limit",
  setup: {
    enableBodyLimit(host, ...given) {
      const { maxSize = 10_485_760 } = readCall<BodyLimitOptions>("enableBodyLimit()", given, ["maxSize"], checks);
      // The pipeline applies it wherever a body is read.
      host.bodyLimit = maxSize;
    },
  },
});
