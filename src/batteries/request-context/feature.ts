import { feature } from "../../feature/feature.js";
import { options } from "../../kit/config.js";
import { requestContext } from "./request-context.js";

export interface RequestContextFeature {
  /** Makes `currentRequest()` work in all code that runs for a request. */
  enableRequestContext(): this;
}

export const requestContextFeature = feature<RequestContextFeature>({
  name: "request context",
  setup: {
    enableRequestContext(_host, ...given) {
      options("enableRequestContext()", {}).read(given);
      return requestContext;
    },
  },
});
