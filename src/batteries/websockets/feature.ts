import { feature } from "../../feature/feature.js";

/**
 * The open WebSockets of an application. They are closed when the server drains: with 1001 (Going Away), or with 1012 (Service
 * Restart) if another process has taken its place.
 */
export const webSocketsFeature = feature<object>({
  name: "WebSockets",
  prepare(host) {
    host.sockets.debug = host.debug;
  },
  drain: ({ sockets, replaced }) =>
    replaced ? sockets.closeAll(1012, "the server restarts; connect again") : sockets.closeAll(),
});
