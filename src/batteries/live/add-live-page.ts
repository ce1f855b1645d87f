import type { Host } from "../../feature/host.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import { joinPaths } from "../../routing/pattern.js";
import { currentHealth } from "../health/feature.js";
import { LiveServer } from "./live-server.js";
import type { LivePageOptions } from "./options.js";
import { livePage } from "./page.js";
import { livePanels } from "./panels.js";
import { listRoutes } from "./route-list.js";
import { checkHost, checkOrigin, checkSite } from "./visitor.js";

/** Adds the page and its stream of events. Only developers need it, so it is loaded on demand. */
export async function addLivePage(host: Host, options: Required<LivePageOptions>): Promise<LiveServer> {
  const page = await livePage();
  const live = new LiveServer({
    requests: options.requests,
    routes: () => listRoutes(host.routes, host.scope),
    health: () => currentHealth(host),
    panels: () => livePanels(host).read(),
    serving: () => host.phase === "started",
  });
  host.use(live.middleware);
  host.link("Live", options.path);
  const add = (path: string, handler: (request: Request) => Response): void =>
    host.route({
      path,
      options: { etag: false, compression: false },
      internal: true,
      handler: (request) => {
        checkHost(request, options.hosts);
        checkOrigin(request);
        return handler(request);
      },
    });
  add(options.path, () => {
    const response = Response.html(page.html);
    response.addField("Content-Security-Policy", page.contentSecurityPolicy);
    response.addField("Cache-Control", "no-store");
    response.addField("Referrer-Policy", "no-referrer");
    response.addField("X-Content-Type-Options", "nosniff");
    return response;
  });
  add(joinPaths(options.path, "/events"), (request) => {
    checkSite(request);
    return Response.sse((signal) => live.events(signal), { retry: 1000 });
  });
  return live;
}
