import type { FeatureHost, FeatureMethods } from "../../feature/feature.js";
import type { EitherSpelling } from "../../internal/names.js";
import { circuitBreakerFeature } from "../circuit-breaker/feature.js";
import { csrfFeature } from "../csrf/feature.js";
import { rateLimitFeature } from "../rate-limit/feature.js";
import type { Api } from "./document.js";
import { defaultOpenapi, type OpenapiOptions, type OpenapiSettings, readOpenapiOptions } from "./options.js";
import type { OpenApiDocument } from "./types.js";

export interface OpenapiFeature {
  /** Documents the application: `/openapi.json`, and two pages that show it, `/docs` and `/redoc`. */
  enableOpenapi(...given: [options?: EitherSpelling<OpenapiOptions>] | [title: string, version?: string]): this;
  /** The OpenAPI document of the routes there are now. */
  openapi(): Promise<OpenApiDocument>;
}

export const openapiFeature: FeatureMethods<OpenapiFeature> = {
  enableOpenapi(...given) {
    this.assertOpen("enableOpenapi()");
    const settings = readOpenapiOptions(given);
    if (!this.slots.has(openapiFeature)) this.onPrepare(() => serveDocumentation(this, settingsIn(this)));
    this.slots.set(openapiFeature, settings);
    return this;
  },
  openapi() {
    return documentOf(this, settingsIn(this));
  },
};

async function documentOf(host: FeatureHost, settings: OpenapiSettings): Promise<OpenApiDocument> {
  const { openApiDocument } = await import("./document.js");
  return openApiDocument(apiOf(host), settings);
}

function settingsIn(host: FeatureHost): OpenapiSettings {
  return (host.slots.get(openapiFeature) as OpenapiSettings | undefined) ?? defaultOpenapi;
}

function apiOf({ routes, middleware, scope, slots }: FeatureHost): Api {
  const breaker = slots.get(circuitBreakerFeature) as { readonly general?: unknown } | undefined;
  const enabled = {
    rateLimit: slots.has(rateLimitFeature),
    circuitBreaker: Boolean(breaker?.general),
    csrf: slots.has(csrfFeature),
  };
  return { routes, middleware, guards: scope.guards, enabled };
}

/** The document is made, and what makes it is loaded, only when it is first asked for: no start waits for it. */
async function serveDocumentation(host: FeatureHost, settings: OpenapiSettings): Promise<void> {
  const { checkOperationIds, documentationRoutes } = await import("../../app/features/enabled.js");
  checkOperationIds(host.routes);
  const routes = documentationRoutes(settings, async () => JSON.stringify(await documentOf(host, settings)));
  for (const { path, handler } of routes) {
    host.accept({ methods: ["GET"], path, websocket: false, options: { hidden: true }, handler, scopes: [] });
  }
  host.addLink("Docs", settings.docsPath || settings.redocPath || settings.openapiPath);
}
