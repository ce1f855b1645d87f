import { requestMethods } from "../../src/http/methods.js";
import type { ModelResponse } from "./exchange-model.js";

export interface Difference {
  /** `accepted`: gets a response like any request. `waits`: taken for the start of a longer one, until the body is late. */
  readonly outcome: "accepted" | "waits";
  readonly why: string;
}

/** Requests of `refused.ts` that node:http accepts and gives us no means to notice, and the reason why that is harmless. */
export const acceptedByNode: Readonly<Record<string, Difference>> = {
  "chunk size of 17 digits": {
    outcome: "accepted",
    why: "llhttp skips leading zeros of a chunk size without a bound; the size it reads is the right one",
  },
  "chunk size beyond counting": {
    outcome: "waits",
    why: "llhttp counts to 2^64 - 1; nothing that follows is taken for a request, and the body limit and timeout hold",
  },
  "many small chunk extensions": {
    outcome: "accepted",
    why: "llhttp bounds the extensions of a chunk (16 KiB), not those of a body; they are dropped as they are read",
  },
  "two spaces before the target": {
    outcome: "accepted",
    why: "llhttp skips spaces between method and target; the target it reads is the same",
  },
  "two spaces behind the target": {
    outcome: "accepted",
    why: "llhttp skips spaces before the version; the target it reads is the same",
  },
  "two empty lines before the request": {
    outcome: "accepted",
    why: "llhttp skips any number of empty lines; the request behind them is the same",
  },
  "a bare LF before the request": {
    outcome: "accepted",
    why: "llhttp skips line ends of either kind before a request; the request behind them is the same",
  },
};

/** The result of some bytes at a server, as far as a comparison needs it. */
export interface Compared {
  readonly seen: readonly string[];
  readonly refusal: number | null;
}

/** Bytes that llhttp accepts and we do not. Each leaves the request that is seen unchanged. */
const leniencies: readonly (readonly [why: string, pattern: RegExp])[] = [
  ["spaces between method, target and version are skipped", /[A-Z] {2}|\S {2,}HTTP\//],
  ["line ends before a request are skipped", /(?:^|[\r\n])[\r\n]+[A-Z]/],
];

/** The reason for different results of the two transports; "" if they are the same; null if there is no known reason. */
export function explain(bytes: string, net: Compared, node: Compared): string | null {
  const common = Math.min(net.seen.length, node.seen.length);
  for (let i = 0; i < common; i++) if (net.seen[i] !== node.seen[i]) return null;
  if (net.seen.length === node.seen.length) return "";
  if (net.seen.length > node.seen.length) {
    const { method } = JSON.parse(net.seen[common]!) as { method: string };
    if (!requestMethods.includes(method)) return "node:http reads no unknown method behind another request";
    return /upgrade:/i.test(bytes) ? "node:http reads no request behind one that asks for another protocol" : null;
  }
  return leniencies.find(([, pattern]) => pattern.test(`${bytes}GET`))?.[0] ?? null;
}

/** Endings of `exchange-model.ts` whose response differs on node:http, and why. */
export const endingsOnNode: Readonly<Record<string, string>> = {
  "a long field":
    "of a head that is too long, node:http shows the last packet: without a line end in it, it gets 414 in place of 431",
  "half a head": "node:http ends the connection when the client ends its side, and drops responses that are not ready",
  "half a body": "the same",
  "half a body that is not read": "the same",
  "half a chunk": "the same",
};

/**
 * The responses that node:http may give in place of the model's. When it cannot read the bytes behind a request that is
 * not complete, it does not say where they stand: the refusal is left out, and the response before it may be the last.
 */
export function modelOnNode(model: readonly ModelResponse[], seen: readonly ModelResponse[]): readonly ModelResponse[] {
  const isRefused = model.at(-1)?.body === "problem";
  if (!isRefused || seen.length !== model.length - 1) return model;
  const rest = model.slice(0, -1);
  return rest.map((response, i) => (i === rest.length - 1 ? { ...response, closes: seen[i]!.closes } : response));
}
