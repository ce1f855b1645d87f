import { type Feature, feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import type { OnlyKnown } from "../../routing/handler.js";
import type { McpCall } from "./call.js";
import { McpConfig, type McpOptions } from "./config.js";
import type {
  PromptHandler,
  PromptOptions,
  ResourceHandler,
  ResourceOptions,
  ToolHandler,
  ToolOptions,
} from "./declared.js";
import { McpHandle } from "./mcp-handle.js";
import { isRouteTool, type RouteToolOptions } from "./route-option.js";

/** The application itself. Named by a member of it: the type of the application is not known here. */
interface Chained {
  readonly state: object;
}

export interface McpFeature {
  /** Serves tools, resources and prompts to models: the Model Context Protocol at `/mcp`, and over stdio by `stoa mcp`. */
  enableMcp(pathOrOptions?: string | ConfigOf<"McpConfig"> | EitherSpelling<McpOptions> | null): this;
  /** A function that models can call: `app.tool("add", { input: z.object({ a: z.number() }) }, (request, { input }) => ...)`. */
  tool<Self extends Chained, const Options extends ToolOptions>(
    this: Self,
    name: string,
    options: Options & OnlyKnown<Options, ToolOptions>,
    handler: ToolHandler<Options>,
  ): Self;
  /** Content that clients can read: `app.resource("notes://{day}", { mimeType: "text/plain" }, (request) => ...)`. */
  resource<Self extends Chained, const Uri extends string, const Options extends ResourceOptions>(
    this: Self,
    uri: Uri,
    options: Options & OnlyKnown<Options, ResourceOptions>,
    handler: ResourceHandler<Uri, Options>,
  ): Self;
  /** A message that users choose: `app.prompt("review", { input: z.object({ code: z.string() }) }, (request, { input }) => ...)`. */
  prompt<Self extends Chained, const Options extends PromptOptions>(
    this: Self,
    name: string,
    options: Options & OnlyKnown<Options, PromptOptions>,
    handler: PromptHandler<Options>,
  ): Self;
  /** The MCP endpoint: `app.mcp.updated(uri)` tells its clients that a resource has changed. */
  readonly mcp: McpState;
}

export interface McpState {
  /** The path of the endpoint; null without `enableMcp()`. */
  readonly path: string | null;
  /** Tells all clients that have subscribed to a resource, on all workers, that it has changed. */
  updated(uri: string): void;
}

declare module "../../http/request.js" {
  interface RequestMembers {
    /** The call of an MCP client; null for other requests. Needs `app.enableMcp()`. */
    readonly mcp: McpCall | null;
  }
}

declare module "../../routing/options.js" {
  interface HttpRouteOptions {
    /** Makes the route a tool of MCP: its parameters, query and body are the input. Needs `app.enableMcp()`. */
    readonly mcp?: boolean | RouteToolOptions | undefined;
  }
}

/** The same, without type parameters: the contract of features derives the types of its functions from this one. */
interface PlainFace extends Pick<McpFeature, "mcp"> {
  enableMcp(...given: unknown[]): this;
  tool(...given: unknown[]): this;
  resource(...given: unknown[]): this;
  prompt(...given: unknown[]): this;
}

const handleOf = perHost((host: Host) => new McpHandle(host));

const plainFeature = feature<PlainFace>({
  name: "MCP endpoint",
  setup: {
    enableMcp(host, ...given) {
      handleOf(host).config = McpConfig.from(given);
    },
    tool: (host, ...given) => handleOf(host).tool(given),
    resource: (host, ...given) => handleOf(host).resource(given),
    prompt: (host, ...given) => handleOf(host).prompt(given),
  },
  values: { mcp: (host) => handleOf(host) },
  // The request of a call has its own.
  requestMembers: { mcp: () => null },
  routeOptions: { mcp: { check: isRouteTool } },
  prepare: (host) => handleOf(host).prepare(),
  ready: (host) => handleOf(host).listen(),
  drain: (host) => handleOf(host).drain(),
});

export const mcpFeature = plainFeature as unknown as Feature<McpFeature>;
