import { type Checks, is, readCall } from "../../internal/options.js";
import { parsePattern } from "../../routing/pattern.js";

export interface LivePageOptions {
  /** Path of the page. Default "/_stoa". */
  readonly path?: string;
  /** Number of requests that the page shows. Default 200. */
  readonly requests?: number;
  /** Further hosts that serve the page, beside localhost and private addresses: names or addresses without a port. */
  readonly hosts?: readonly string[];
}

const checks: Checks<LivePageOptions> = {
  path: (value) => is.path(value) ?? (parsePattern(value as string).paramNames.length > 0 ? "a plain path" : undefined),
  requests: is.integer(1, 10_000),
  hosts: is.strings,
};

export function readLivePageOptions(given: readonly unknown[]): Required<LivePageOptions> {
  const { path = "/_stoa", ...rest } = readCall<LivePageOptions>("enableLivePage()", given, ["path"], checks);
  const plain = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  const hosts = (rest.hosts ?? []).map((host) => host.toLowerCase());
  return { requests: 200, ...rest, hosts, path: plain };
}
