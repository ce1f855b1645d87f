import { feature } from "../../feature/feature.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";
import { type EtagOptions, etag } from "./etag.js";

export interface EtagFeature {
  /**
   * Adds an ETag to responses. Responds with 304 if If-None-Match or If-Modified-Since says that the client has the
   * body.
   */
  enableEtag(options?: EitherSpelling<EtagOptions>): this;
}

declare module "../../routing/options.js" {
  interface HttpRouteOptions {
    /** False leaves out the ETag of `enableEtag()`. */
    readonly etag?: boolean;
  }
}

export const etagFeature = feature<EtagFeature>({
  name: "ETag",
  setup: { enableEtag: (_host, ...given) => etag(given) },
  routeOptions: { etag: { check: is.boolean } },
});
