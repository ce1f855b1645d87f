/** Not in feature.ts: the bundler puts what is loaded there into the file of the batteries, which most applications load. */
export async function loadExtendStores(): Promise<typeof import("./extend-stores.js")> {
  return import("./extend-stores.js");
}

/** The way to the supervisor: a process without workers has none. */
export async function loadLink(): Promise<typeof import("../../server/exchange/link.js")> {
  return import("../../server/exchange/link.js");
}
