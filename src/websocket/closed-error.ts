/** Something was to be sent to a peer that is not there any more. */
export class WebSocketClosedError extends Error {
  override name = "WebSocketClosedError";
}
