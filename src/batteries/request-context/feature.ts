import { feature } from "../../feature/feature.js";
import { requestContext as requestContextMiddleware } from "./request-context.js";

export interface RequestContextFeature {
  /** Makes `currentRequest()` work in all code that runs for a request. */
  enableRequestContext(): this;
}

export const requestContext = feature<RequestContextFeature>({
  name: "request context",
  setup: { enableRequestContext: () => requestContextMiddleware },
});
