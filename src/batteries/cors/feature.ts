import { type FeatureMethods, replaceFeature } from "../../feature/feature.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type CorsOptions, cors } from "./cors.js";
import type { Origins } from "./origins.js";

export interface CorsFeature {
  /** Lets scripts of other sites use the application: of all sites, unless origins are given. */
  enableCors(...given: [options?: EitherSpelling<CorsOptions>] | [origins: Origins]): this;
}

export const corsFeature: FeatureMethods<CorsFeature> = {
  enableCors(...given) {
    replaceFeature(this, corsFeature, cors(given));
    return this;
  },
};
