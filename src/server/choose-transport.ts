import { loadAddon } from "./native/addon.js";
import { StartError } from "./start-error.js";

/** The transport that a server runs on. */
export interface ChosenTransport {
  readonly name: "native" | "net" | "node";
  /** Why it is not the native one, where that was possible; null if it is, or if another one was requested. */
  readonly notNative: string | null;
}

/** The options of a run that decide. */
interface Wish {
  readonly transport: "auto" | "native" | "net" | "node";
}

/** Throws if the requested transport cannot be used. */
export function chooseTransport({ transport }: Wish): ChosenTransport {
  if (transport === "native") {
    const addon = loadAddon();
    if (typeof addon !== "string") return { name: "native", notNative: null };
    throw new StartError(`transport "native" cannot be used: ${addon}; or choose transport "auto"`);
  }
  return { name: transport === "node" ? "node" : "net", notNative: null };
}

/** For people: `net (not native: it is not built)`. */
export function describeTransport({ name, notNative }: ChosenTransport): string {
  return notNative === null ? name : `${name} (not native: ${notNative})`;
}
