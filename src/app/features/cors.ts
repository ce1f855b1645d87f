import type { EitherSpelling } from "../../internal/names.js";
import { type CorsOptions, cors } from "../../middleware/cors/cors.js";
import type { Origins } from "../../middleware/cors/origins.js";
import { type FeatureMethods, replaceFeature } from "../feature.js";

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
