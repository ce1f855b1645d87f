import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import type { Duration } from "../../kit/time/duration.js";
import { joinPaths } from "../../routing/pattern.js";
import { StaticFilesConfig, type StaticFilesOptions } from "./config.js";

export interface StaticFilesFeature {
  /** Serves the files of a directory below a prefix, `/static` by default. Can be called for several prefixes. */
  enableStaticFiles(
    directoryOrOptions: string | URL | ConfigOf<"StaticFilesConfig"> | EitherSpelling<StaticFilesOptions>,
    prefix?: string,
    indexFile?: string,
    cacheMaxAge?: Duration,
  ): this;
}

/** By prefix: a later call for the same prefix wins. */
const configsOf = perHost(() => new Map<string, StaticFilesConfig>());

export const staticFilesFeature = feature<StaticFilesFeature>({
  name: "static files",
  setup: {
    enableStaticFiles(host, ...given) {
      const config = StaticFilesConfig.from(given);
      configsOf(host).set(config.prefix, config);
    },
  },
  async prepare(host) {
    const configs = configsOf(host);
    if (configs.size === 0) return;
    const { staticFiles } = await import("./static-files.js");
    for (const [prefix, config] of configs) {
      const serve = staticFiles(config);
      const route = (path: string): void => host.route({ path, handler: serve, options: { cache: false } });
      // A wildcard, so that any other route below the prefix goes before the files.
      route(joinPaths(prefix, "/{path:*}"));
      const taken = host.routes.some(({ methods, path }) => path === prefix && methods.includes("GET"));
      if (prefix !== "/" && !taken) route(prefix);
    }
  },
});
