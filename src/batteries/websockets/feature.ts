import { feature } from "../../feature/feature.js";

/** The open WebSockets of an application. They are closed with 1001 when the server drains. */
export const webSocketsFeature = feature<object>({
  name: "WebSockets",
  prepare(host) {
    host.sockets.debug = host.debug;
  },
  drain: (host) => host.sockets.closeAll(),
});
