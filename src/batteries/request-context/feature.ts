import { feature } from "../../feature/feature.js";
import { readCall } from "../../internal/options.js";
import { requestContext } from "./request-context.js";

export interface RequestContextFeature {
  /** Makes `currentRequest()` work in all code that runs for a request. */
  enableRequestContext(): this;
}

export const requestContextFeature = feature<RequestContextFeature>({
  name: "request context",
  setup: {
    enableRequestContext(_host, ...given) {
      readCall("enableRequestContext()", given, [], {});
      return requestContext;
    },
  },
});
