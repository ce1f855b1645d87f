/** The reasons for which a connection of HTTP/2 is ended. They are codes in the log and in metrics. */
export type Http2Abuse =
  /** The client cancels streams, or makes the server reset them, faster than `maxResets` allows. */
  | "HTTP2_RESET_FLOOD"
  /** The client sends PING, SETTINGS or PRIORITY frames faster than `maxControlFrames` allows. */
  | "HTTP2_CONTROL_FLOOD"
  /** The client sends many bytes that belong to no request. */
  | "HTTP2_FRAME_FLOOD"
  /** The client has sent more than `maxInvalidFrames` frames that are empty or not valid. */
  | "HTTP2_INVALID_FRAMES"
  /** The client breaks the protocol. */
  | "HTTP2_PROTOCOL_ERROR";

/** NGHTTP2_ERR_FLOODED: too many replies to PING and SETTINGS wait for a client that does not read. */
const flooded = -904;

/** The reason why the HTTP/2 library of Node ends a session; undefined if its client is not to blame. */
export function abuseOf(error: Error & { readonly code?: string; readonly errno?: number }): Http2Abuse | undefined {
  if (error.code === "ERR_HTTP2_TOO_MANY_INVALID_FRAMES") return "HTTP2_INVALID_FRAMES";
  if (error.code === "ERR_HTTP2_ERROR") return error.errno === flooded ? "HTTP2_CONTROL_FLOOD" : "HTTP2_PROTOCOL_ERROR";
  return undefined;
}
