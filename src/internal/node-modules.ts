import { createRequire } from "node:module";

/** Loads a module at once, not before it is needed: an application that does without starts the sooner. */
export const requireHere: NodeJS.Require = createRequire(import.meta.url);

let crypto: typeof import("node:crypto") | undefined;

/** node:crypto alone is a tenth of a small start. */
export function nodeCrypto(): typeof import("node:crypto") {
  return (crypto ??= requireHere("node:crypto") as typeof import("node:crypto"));
}

/** For what happens once, or rarely. */
export function nodeOs(): typeof import("node:os") {
  return requireHere("node:os") as typeof import("node:os");
}

/** For what happens rarely. */
export function nodeUtil(): typeof import("node:util") {
  return requireHere("node:util") as typeof import("node:util");
}

let zlib: typeof import("node:zlib") | undefined;

export function nodeZlib(): typeof import("node:zlib") {
  return (zlib ??= requireHere("node:zlib") as typeof import("node:zlib"));
}

/** The name under which an object tells how it is shown, as node:util has it. */
export const inspectSymbol: unique symbol = Symbol.for("nodejs.util.inspect.custom");
