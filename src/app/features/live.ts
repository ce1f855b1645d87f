import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type LivePageOptions, readLivePageOptions } from "../../live/options.js";
import { joinPaths } from "../../routing/pattern.js";
import { type FeatureHost, type FeatureMethods, slot } from "../feature.js";
import { currentHealth } from "./health.js";

export interface LiveFeature {
  /**
   * Shows what the application does while it does it, at `/_stoa` unless given: routes, requests, timings, errors,
   * health. In development only; in production this does nothing.
   */
  enableLivePage(...given: [options?: EitherSpelling<LivePageOptions>] | [path: string]): this;
}

export const liveFeature: FeatureMethods<LiveFeature> = {
  enableLivePage(...given) {
    this.assertOpen("enableLivePage()");
    const options = readLivePageOptions(given);
    const enabled = slot(this, liveFeature, () => {
      this.onPrepare(async () => {
        if (this.env === "development") await startLivePage(this, enabled.options);
      });
      return { options };
    });
    enabled.options = options;
    return this;
  },
};

/** What only a developer needs is loaded here. */
async function startLivePage(host: FeatureHost, options: Required<LivePageOptions>): Promise<void> {
  const [{ LiveServer }, { livePage }, { listRoutes }, { checkHost, checkSite }] = await Promise.all([
    import("../../live/live-server.js"),
    import("../../live/page.js"),
    import("../../live/route-list.js"),
    import("../../live/visitor.js"),
  ]);
  const page = await livePage();
  const live = new LiveServer({
    requests: options.requests,
    routes: () => listRoutes(host.routes, host.scope),
    health: () => currentHealth(host),
    serving: () => host.phase === "started",
  });
  host.addFeature(live.middleware);
  host.beforeStartup(() => live.start());
  host.afterShutdown(() => live.stop());
  host.addLink("Live", options.path);
  const accept = (path: string, handler: (request: Request) => Response): void =>
    host.accept({
      methods: ["GET"],
      path,
      websocket: false,
      options: { hidden: true, etag: false, compression: false },
      handler: (request: Request) => {
        checkHost(request, options.hosts);
        return handler(request);
      },
      scopes: [],
      internal: true,
    });
  accept(options.path, () => {
    const response = Response.html(page.html);
    response.addField("Content-Security-Policy", page.contentSecurityPolicy);
    response.addField("Cache-Control", "no-store");
    response.addField("Referrer-Policy", "no-referrer");
    response.addField("X-Content-Type-Options", "nosniff");
    return response;
  });
  accept(joinPaths(options.path, "/events"), (request) => {
    checkSite(request);
    return Response.sse((signal) => live.events(signal), { retry: 1000 });
  });
}
