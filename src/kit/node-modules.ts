/** Modules of Node.js that not every application needs. They are loaded on first use, which makes the start faster. */

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

let crypto: typeof import("node:crypto") | undefined;

/** node:crypto alone is a tenth of a small start. */
export function nodeCrypto(): typeof import("node:crypto") {
  return (crypto ??= require("node:crypto") as typeof import("node:crypto"));
}

/** For code that runs once, or rarely. */
export function nodeOs(): typeof import("node:os") {
  return require("node:os") as typeof import("node:os");
}

/** For code that runs rarely. */
export function nodeUtil(): typeof import("node:util") {
  return require("node:util") as typeof import("node:util");
}

let zlib: typeof import("node:zlib") | undefined;

export function nodeZlib(): typeof import("node:zlib") {
  return (zlib ??= require("node:zlib") as typeof import("node:zlib"));
}

/** The symbol of the method with which node:util shows an object. */
export const inspectSymbol: unique symbol = Symbol.for("nodejs.util.inspect.custom");
