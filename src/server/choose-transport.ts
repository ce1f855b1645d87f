import { openWire } from "./native/wire.js";
import { StartError } from "./start-error.js";

/** The transport that a server runs on. */
export interface ChosenTransport {
  readonly name: "native" | "net" | "node";
  /** How the native one moves bytes. */
  readonly engine?: string;
  /** Where the addon of the native one comes from. */
  readonly origin?: string;
  /** Why `auto` did not take the native one; null if it did, or if a transport was requested. */
  readonly notNative: string | null;
}

/** The options of a run that decide. */
interface Wish {
  readonly transport: "auto" | "native" | "net" | "node";
  readonly tls: unknown;
  readonly http2: unknown;
}

/** Throws if the requested transport cannot be used. `open` returns why the native one cannot. */
export function chooseTransport({ transport, tls, http2 }: Wish, open = openWire): ChosenTransport {
  if (transport === "net" || transport === "node") return { name: transport, notNative: null };
  const spoken = tls !== null ? "TLS" : http2 !== null ? "HTTP/2" : null;
  const wire = spoken === null ? open() : `it does not speak ${spoken}`;
  if (typeof wire !== "string") {
    return { name: "native", engine: wire.engine, origin: wire.addon.origin, notNative: null };
  }
  if (transport === "auto") return { name: "net", notNative: wire };
  throw new StartError(`transport "native" cannot be used: ${wire}; or choose transport "auto"`);
}

/** `native (io_uring)`, for example. */
export function transportName({ name, engine }: ChosenTransport): string {
  return engine === undefined ? name : `${name} (${engine})`;
}

/** For people: `net (not native: it is not built)`. */
export function describeTransport(chosen: ChosenTransport): string {
  return chosen.notNative === null ? transportName(chosen) : `${chosen.name} (not native: ${chosen.notNative})`;
}
