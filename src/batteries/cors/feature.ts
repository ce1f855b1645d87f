import { feature } from "../../feature/feature.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type CorsOptions, cors } from "./cors.js";
import type { Origins } from "./origins.js";

export interface CorsFeature {
  /** Allows scripts of other origins to use the application: of all origins, unless some are given. */
  enableCors(originsOrOptions?: Origins | EitherSpelling<CorsOptions>): this;
}

export const corsFeature = feature<CorsFeature>({
  name: "CORS",
  setup: { enableCors: (_host, ...given) => cors(given) },
});
