import { feature } from "../../feature/feature.js";
import { options } from "../../kit/config.js";
import { requestId } from "./request-id.js";

export interface RequestIdFeature {
  /** Gives every request an id, in `request.context.request_id` and in X-Request-ID; an incoming id is kept. */
  enableRequestId(): this;
}

export const requestIdFeature = feature<RequestIdFeature>({
  name: "request id",
  setup: {
    enableRequestId(_host, ...given) {
      options("enableRequestId()", {}).read(given);
      return requestId;
    },
  },
});
