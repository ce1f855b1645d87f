import type { FeatureHost } from "../../feature/feature.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import { joinPaths } from "../../routing/pattern.js";
import { currentHealth } from "../health/feature.js";
import { LiveServer } from "./live-server.js";
import type { LivePageOptions } from "./options.js";
import { livePage } from "./page.js";
import { listRoutes } from "./route-list.js";
import { checkHost, checkSite } from "./visitor.js";

/** Only a developer needs it: whoever starts it loads it. */
export async function startLivePage(host: FeatureHost, options: Required<LivePageOptions>): Promise<void> {
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
