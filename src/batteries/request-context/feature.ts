import type { FeatureMethods } from "../../feature/feature.js";
import { requestContext } from "./request-context.js";

export interface RequestContextFeature {
  /** Makes `currentRequest()` work in everything that runs on behalf of a request. */
  enableRequestContext(): this;
}

export const requestContextFeature: FeatureMethods<RequestContextFeature> = {
  enableRequestContext() {
    this.addFeature(requestContext);
    return this;
  },
};
