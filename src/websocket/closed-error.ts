/** A message cannot be sent because the connection has ended. */
export class WebSocketClosedError extends Error {
  override name = "WebSocketClosedError";
}
