import { relative, sep } from "node:path";
import { hostOf } from "../../app/app.js";
import { stagesOf } from "../../app/compile-routes.js";
import type { AppHost } from "../../app/host.js";
import { byPath, type ListedRoute, listRoute } from "../../batteries/live/route-list.js";
import type { RouteDefinition } from "../../routing/definition.js";
import { appOption, prepareApp } from "../application.js";
import { defineCommand } from "../command.js";
import { shownJson, tableLines } from "../shown.js";

export const routes = defineCommand({
  summary: "Lists the routes of the application: WebSockets, GraphQL and gRPC included.",
  options: { json: { kind: "switch", help: "print a JSON list" }, ...appOption },
  details: `
The application is loaded and not started: nothing is connected, and no startup hook runs. GRPC is a method of the gRPC server,
WS a WebSocket. SOURCE is the line that registers the route; routes of the framework have none.

Examples:
  stoa routes --app src/app.ts
  stoa routes --json | jq -r '.[] | select(.guards == []) | .path'`,
  async run(call) {
    const { options, terminal, cwd } = call;
    // The lines of TypeScript, in an application that was compiled too.
    process.setSourceMapsEnabled(true);
    const rows = rowsOf(hostOf(await prepareApp(call)), cwd);
    if (options.json) terminal.print(shownJson(rows));
    else if (rows.length === 0) terminal.print("the application has no routes");
    else for (const line of lines(rows)) terminal.print(line);
  },
});

interface Row extends ListedRoute {
  readonly middleware: readonly string[];
  readonly source: string | null;
}

function rowsOf(host: AppHost, cwd: string): Row[] {
  const row = (definition: RouteDefinition): Row => ({
    ...listRoute(definition, host.scope),
    middleware: stagesOf(definition, host)
      .filter((item) => item.slot !== "guards" && !item.skips?.(definition.path))
      .map(({ name }) => name || "(unnamed)"),
    source: sourceOf(definition, cwd),
  });
  // A method has a second pipeline for gRPC-Web; a pipeline without `rpc` refuses unknown methods.
  const calls = new Map(host.pipelines.filter(({ options }) => "rpc" in options).map((call) => [call.path, call]));
  const grpc = [...calls.values()].map((call) => ({ ...row(call), methods: ["GRPC"] }));
  return [...host.routes.map(row), ...grpc].sort(byPath);
}

/** Middleware that all HTTP routes have is one line below the table, and not in each of its rows. */
function lines(rows: readonly Row[]): string[] {
  const http = rows.filter(({ websocket, methods }) => !websocket && methods[0] !== "GRPC");
  const common = http[0]?.middleware.filter((name) => http.every(({ middleware }) => middleware.includes(name))) ?? [];
  const cells = rows.map((row) => {
    const own = http.includes(row) ? row.middleware.filter((name) => !common.includes(name)) : row.middleware;
    return [row.methods.join(","), row.path, listed(row.guards), listed(own), row.source ?? "-"];
  });
  const table = tableLines([["METHOD", "PATH", "GUARDS", "MIDDLEWARE", "SOURCE"], ...cells]);
  return common.length === 0 ? table : [...table, "", `middleware of all HTTP routes: ${listed(common)}`];
}

function listed(names: readonly string[]): string {
  return names.join(", ") || "-";
}

/** The file and the line. */
function sourceOf({ place }: RouteDefinition, cwd: string): string | null {
  const line = place?.()?.replace(/:\d+$/, "");
  if (line === undefined) return null;
  const path = relative(cwd, line);
  return path.startsWith(`..${sep}`) ? line : path;
}
