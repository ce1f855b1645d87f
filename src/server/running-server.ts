import type { ListenAddress } from "./transport.js";

/** A server that listens. */
export interface RunningServer {
  readonly address: ListenAddress;
  /** The address for a client on this machine. */
  readonly url: string;
  /** Drains: requests in flight get their response, then the shutdown hooks run. */
  close(): Promise<void>;
}
