import { startTunnel as start } from "../../../scripts/chaos/tunnel.mjs";

/** A way to a server that can be cut and mended. */
export interface Tunnel {
  readonly port: number;
  /** Breaks all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts connections again, on the same port. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** The tunnel of the chaos rig. */
export const startTunnel: (targetPort: number) => Promise<Tunnel> = start;
