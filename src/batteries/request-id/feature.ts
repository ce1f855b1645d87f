import { type FeatureMethods, replaceFeature } from "../../feature/feature.js";
import { requestId } from "./request-id.js";

export interface RequestIdFeature {
  /** Gives every request an id, in `request.context.request_id` and in X-Request-ID; one that comes in is kept. */
  enableRequestId(): this;
}

export const requestIdFeature: FeatureMethods<RequestIdFeature> = {
  enableRequestId() {
    replaceFeature(this, requestIdFeature, requestId);
    return this;
  },
};
