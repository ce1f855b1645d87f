import { createNetTransport, Http1Transport } from "../http1/transport.js";
import { StartError } from "../start-error.js";
import type { TransportFactory } from "../transport.js";
import { NativeListener } from "./listener.js";
import { openWire, type Wire } from "./wire.js";

/**
 * The HTTP/1.1 server of http1/ on sockets of native/wire.c. TLS needs Node's sockets, and so takes the transport on
 * node:net.
 */
export const createNativeTransport: TransportFactory = nativeTransport(openWire);

export function nativeTransport(open: () => Wire | string): TransportFactory {
  return (dispatch, options) => {
    if (options.tls !== null) return createNetTransport(dispatch, options);
    const wire = open();
    if (typeof wire === "string") throw new StartError(`the native transport cannot be used: ${wire}`);
    return new Http1Transport(dispatch, options, (transport) => {
      return new NativeListener(wire, options, (socket) => {
        socket.receiver = transport.admit(socket, false);
      });
    });
  };
}
