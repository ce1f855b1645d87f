import type { FeatureMethods } from "../../feature/feature.js";
import type { Request } from "../../http/request.js";
import type { EitherSpelling } from "../../internal/names.js";
import type { RouteDefinition } from "../../route/route.js";
import { joinPaths } from "../../routing/pattern.js";
import { StaticFilesConfig, type StaticFilesOptions } from "./config.js";
import type { StaticFileHandler } from "./static-files.js";

export interface StaticFilesFeature {
  /** Serves the files of a directory below a prefix, `/static` unless given. May be called for several. */
  enableStaticFiles(
    ...given:
      | [config: StaticFilesConfig | EitherSpelling<StaticFilesOptions>]
      | [directory: string | URL, prefix?: string, indexFile?: string, cacheMaxAge?: number]
  ): this;
}

/** Files are routes: a wildcard, so that any other route below the prefix goes before them. */
export const staticFilesFeature: FeatureMethods<StaticFilesFeature> = {
  enableStaticFiles(...given) {
    this.assertOpen("enableStaticFiles()");
    const config = StaticFilesConfig.from(given);
    let serve: StaticFileHandler;
    const route = (path: string): RouteDefinition => ({
      methods: ["GET"],
      path,
      websocket: false,
      options: { hidden: true, cache: false },
      handler: (request: Request) => serve(request),
      scopes: [],
    });
    this.accept(route(joinPaths(config.prefix, "/{path:*}")));
    this.onPrepare(async () => {
      const { staticFiles } = await import("./static-files.js");
      serve = staticFiles(config);
      if (config.prefix === "/") return;
      const taken = this.routes.some(({ methods, path }) => path === config.prefix && methods.includes("GET"));
      if (!taken) this.accept(route(config.prefix));
    });
    return this;
  },
};
