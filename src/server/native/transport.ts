import { createNetTransport, Http1Transport } from "../http1/transport.js";
import { StartError } from "../start-error.js";
import type { TransportFactory } from "../transport.js";
import { loadAddon } from "./addon.js";
import { NativeListener } from "./listener.js";

/**
 * The HTTP/1.1 server of http1/ on sockets of native/wire.c. TLS needs Node's sockets, and so takes the transport on
 * node:net.
 */
export const createNativeTransport: TransportFactory = (dispatch, options) => {
  if (options.tls !== null) return createNetTransport(dispatch, options);
  const addon = loadAddon();
  if (typeof addon === "string") throw new StartError(`the native transport cannot be used: ${addon}`);
  return new Http1Transport(dispatch, options, (transport) => {
    return new NativeListener(addon, options, (socket) => {
      socket.receiver = transport.admit(socket, false);
    });
  });
};
