import { livePanels } from "../../../batteries/live/panels.js";
import { checkHost, checkOrigin, checkSite } from "../../../batteries/live/visitor.js";
import { HttpError } from "../../../errors/http-error.js";
import type { Host } from "../../../feature/host.js";
import type { Request } from "../../../http/request.js";
import { Response } from "../../../http/response.js";
import { nodeCrypto } from "../../../internal/node-modules.js";
import { joinPaths } from "../../../routing/pattern.js";
import type { EventStore } from "../event-store.js";
import { isName } from "../names.js";
import { inspect, subscriptionRows, type View } from "./inspect.js";
import { pageHtml } from "./markup.js";
import { eventPageStyle } from "./style.js";

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${nodeCrypto().createHash("sha256").update(eventPageStyle).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** Adds the page of events for developers, beside the live page and under its rules, and a panel that leads to it. */
export function addEventPage(
  host: Host,
  live: { readonly path: string; readonly hosts: readonly string[] },
  store: EventStore,
): void {
  const path = joinPaths(live.path, "/event-store");
  host.route({
    path,
    options: { etag: false, compression: false },
    internal: true,
    handler: async (request) => {
      checkHost(request, live.hosts);
      checkOrigin(request);
      checkSite(request);
      const response = Response.html(pageHtml(await inspect(store, viewOf(request)), path));
      response.addField("Content-Security-Policy", policy);
      response.addField("Cache-Control", "no-store");
      response.addField("Referrer-Policy", "no-referrer");
      response.addField("X-Content-Type-Options", "nosniff");
      return response;
    },
  });
  livePanels(host).add("events", async () => {
    const { mark, rows } = await subscriptionRows(store);
    return {
      title: "Events",
      facts: [
        { label: "Last position", value: mark },
        { label: "Subscriptions", value: rows.length },
        ...rows
          .filter(({ failures }) => failures > 0)
          .map(({ name }) => ({ label: name, value: "fails", tone: "bad" as const })),
      ],
      tables: [
        {
          title: "Subscriptions and projections",
          columns: ["Name", "Position", "Behind", "Worker"],
          rows: rows.map(({ name, position, lag, owner }) => [name, position, lag, owner ?? "none"]),
          empty: "There are no subscriptions.",
        },
      ],
      link: { label: "Streams and events", href: path },
    };
  });
}

function viewOf(request: Request): View {
  const { query } = request;
  const stream = query.get("stream");
  const correlation = query.get("correlation");
  if (stream) return { kind: "stream", stream: named(stream), archived: query.get("archived") === "1" };
  if (correlation) return { kind: "chain", correlation: named(correlation) };
  return { kind: "all" };
}

function named(text: string): string {
  if (!isName(text)) throw new HttpError(400, "No stream can have this name.");
  return text;
}
