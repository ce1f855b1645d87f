import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import { WebSocketRegistry } from "../../websocket/registry.js";

const registryOf = perHost(() => new WebSocketRegistry());

/** The open WebSockets of an application. They are closed with 1001 when the server drains. */
export const webSocketsFeature = feature<object>({
  name: "WebSockets",
  prepare(host) {
    registryOf(host).debug = host.debug;
  },
  drain: (host) => registryOf(host).closeAll(),
});

/** The registry that the endpoints of WebSocket routes report to. */
export function openSockets(host: Host): WebSocketRegistry {
  return registryOf(host);
}
