import type { Guard } from "../../guards/guard.js";
import { config, type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type Check, is } from "../../kit/options.js";
import { isMiddleware, type Middleware, type MiddlewareFunction } from "../../pipeline/middleware.js";
import { isGuardOption } from "../../routing/options.js";

const isUrl: Check<string> = (value) =>
  typeof value === "string" && URL.canParse(value) && /^https?:/.test(value) ? undefined : "an absolute URL";

const oauthOptions = options("option 'oauth' in McpConfig", {
  /** The issuers whose access tokens are accepted: `["https://auth.example.com"]`. */
  authorizationServers: option.required(is.list(isUrl)),
  /** The URL of the endpoint, as tokens name it (their audience). Default: the address of the request. */
  resource: option(isUrl),
  /** The scopes that clients can request. */
  scopes: option(is.strings, []),
});

export interface McpOauthOptions extends OptionsOf<typeof oauthOptions.fields> {}
export type McpOauthSettings = SettingsOf<typeof oauthOptions.fields>;

/** The settings of the MCP endpoint. */
export class McpConfig extends config(
  "McpConfig",
  {
    /** The path of the endpoint. Default `/mcp`. */
    path: option(is.path, "/mcp"),
    /** The name of the server, for clients. Default: the name of the application, or `stoa`. */
    name: option(is.text),
    /** The version of the server, for clients. Default `0.0.0`. */
    version: option(is.text, "0.0.0"),
    /** A text for models on how to use the server. */
    instructions: option(is.text),
    /** Guards of the endpoint, besides those of the application. */
    guards: option<readonly Guard[]>(is.list(isGuardOption), []),
    /** Middleware of the endpoint, such as its authentication. */
    middleware: option<readonly (Middleware | MiddlewareFunction)[]>(is.list(isMiddleware), []),
    /**
     * Origins of web pages that may call the endpoint: `["https://chat.example.com"]`. Default: none but those of the same
     * machine. Clients that are no browsers send no origin.
     */
    origins: option(is.strings, []),
    /** Tools, resources or prompts on one page of a list. Default 100. */
    pageSize: option(is.integer(1, 10_000), 100),
    /** Time after its last request for which a session is kept. Default 1 hour. */
    sessionSecs: option.duration("1h", "1s", "365d"),
    /** Sessions that are kept in memory, where no key-value store is enabled; the least recent go. Default 10000. */
    maxSessions: option(is.integer(1), 10_000),
    /** Time for which a call without a connection continues, and its messages are kept, until its client comes back. Default 30 seconds. */
    resumeSecs: option.duration("30s", 0, "24d"),
    /** The authorization by OAuth: clients learn from it where they get a token (RFC 9728). */
    oauth: option.made<EitherSpelling<McpOauthOptions>, McpOauthSettings | undefined>(
      is.object,
      (given) => oauthOptions.read([given]),
      undefined,
    ),
  },
  { order: ["path"] },
) {}

export interface McpOptions extends OptionsOf<typeof McpConfig.options.fields> {}
