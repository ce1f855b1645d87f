import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import type { PoolRunner } from "./connection/pool-runner.js";
import { invoke, type RawClient } from "./connection/raw-client.js";

const scanOptions = options("scan()", {
  /** A pattern: `user:*`; `?` is one character, `[ab]` one of these. Default: all keys. */
  match: option(is.text, "*"),
  /** The type of the keys: `string`, `hash`, `list`, `set`, `zset` or `stream`. */
  type: option(is.text),
  /** Keys that the server looks at in one call. Default 250. */
  count: option(is.integer(1), 250),
});

export interface ScanOptions extends OptionsOf<typeof scanOptions.fields> {}

/**
 * The keys of the store, without its prefix, of all servers of a cluster. A key that exists during the whole scan is found at
 * least once. A key that is added or removed during the scan may be found or not. Other clients are not blocked.
 */
export async function* scanKeys(runner: PoolRunner, given?: ScanOptions): AsyncGenerator<string, void, undefined> {
  const { match, type, count } = scanOptions.read([given]);
  const pattern = escapePattern(runner.prefix) + match;
  const rest = ["MATCH", pattern, "COUNT", count, ...(type === undefined ? [] : ["TYPE", type])];
  for (const node of await serversOf(runner)) {
    let cursor = "0";
    do {
      const [next, keys] = (await runner.guard(
        "scan",
        (link) => invoke(node ?? link.client, "scan", [cursor, ...rest], false) as Promise<unknown>,
      )) as [string, string[]];
      for (const key of keys) yield key.slice(runner.prefix.length);
      cursor = next;
    } while (cursor !== "0");
  }
}

/** The masters of a cluster; null for any connection to the one server. */
async function serversOf(runner: PoolRunner): Promise<readonly (RawClient | null)[]> {
  if (!runner.clustered) return [null];
  return runner.guard("scan", async (link) => {
    await (invoke(link.client, "ping", [], false) as Promise<unknown>);
    return link.client.nodes!("master");
  });
}

/** Text without meaning in a pattern of Redis. */
export function escapePattern(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, "\\$&");
}
