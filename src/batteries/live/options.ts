import { type Checks, is, readCall } from "../../internal/options.js";
import { parsePattern } from "../../routing/pattern.js";

export interface LivePageOptions {
  /** Where the page stands. Default "/_stoa". */
  readonly path?: string;
  /** Requests that are remembered. Default 200. */
  readonly requests?: number;
  /** Further names under which this machine may be asked for the page, beside localhost and addresses. */
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
  return { requests: 200, hosts: [], ...rest, path: plain };
}
