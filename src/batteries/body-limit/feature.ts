import { feature } from "../../feature/feature.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";

const bodyLimitOptions = options(
  "enableBodyLimit()",
  {
    /** Largest request body in bytes. Default 10485760. */
    maxSize: option(is.integer(0), 10_485_760),
  },
  { order: ["maxSize"] },
);

export interface BodyLimitOptions extends OptionsOf<typeof bodyLimitOptions.fields> {}

export interface BodyLimitFeature {
  /** Refuses larger request bodies with 413, before they are read. A route's `bodyLimit` overrides it. */
  enableBodyLimit(maxSizeOrOptions?: number | EitherSpelling<BodyLimitOptions>): this;
}

export const bodyLimitFeature = feature<BodyLimitFeature>({
  name: "body limit",
  setup: {
    enableBodyLimit(host, ...given) {
      // The pipeline applies it wherever a body is read.
      host.bodyLimit = bodyLimitOptions.read(given).maxSize;
    },
  },
  review({ bodyLimit, settings: { maxBodyMemory = 0 } }) {
    return [
      maxBodyMemory > 0 &&
        maxBodyMemory < bodyLimit &&
        `option 'maxBodyMemory' in run() is below the body limit of ${bodyLimit} bytes: a body between both gets 503, however often it is sent`,
    ];
  },
});
