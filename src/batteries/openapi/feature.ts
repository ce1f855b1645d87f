import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { EitherSpelling } from "../../kit/names.js";
import type { DescribedSchema } from "../../validation/body-validator.js";
import type { StandardSchema } from "../../validation/standard-schema.js";
import { breaksAllCircuits } from "../circuit-breaker/feature.js";
import { refusesForgedRequests } from "../csrf/feature.js";
import { limitsAllRoutes } from "../rate-limit/feature.js";
import { areResponses, type DocumentedResponse } from "./documented-response.js";
import type { Api } from "./operation.js";
import { type OpenapiOptions, type OpenapiSettings, openapiOptions } from "./options.js";
import type { DocumentationLink } from "./serve.js";
import type { OpenApiDocument } from "./types.js";

export interface OpenapiFeature {
  /** Documents the application: `/openapi.json`, and two pages that show it, `/docs` and `/redoc`. */
  enableOpenapi(titleOrOptions?: string | EitherSpelling<OpenapiOptions>, version?: string): this;
  /** The OpenAPI document of the current routes. */
  openapi(): Promise<OpenApiDocument>;
}

declare module "../../routing/options.js" {
  interface HttpRouteOptions {
    /** Further responses for the documentation, by status: a description, a schema, or both; false for a status that is never sent. */
    readonly responses?: Readonly<
      Record<number, string | StandardSchema | DescribedSchema | DocumentedResponse | false>
    >;
  }
}

interface State {
  settings: OpenapiSettings | null;
  /** Documentation of other kinds, which the pages link to. */
  readonly further: DocumentationLink[];
}

const stateOf = perHost((): State => ({ settings: null, further: [] }));

export const openapiFeature = feature<OpenapiFeature>({
  name: "OpenAPI document",
  setup: {
    enableOpenapi(host, ...given) {
      stateOf(host).settings = openapiOptions.read(given);
    },
  },
  methods: { openapi: (host) => documentOf(host) },
  routeOptions: { responses: { check: areResponses } },
  async prepare(host) {
    const { settings, further } = stateOf(host);
    if (settings === null) return;
    const [{ checkOperationIds }, { documentationRoutes }] = await Promise.all([
      import("./operation-id.js"),
      import("./serve.js"),
    ]);
    checkOperationIds(host.routes);
    // The document is made with the first request for it: no start waits for it.
    const routes = documentationRoutes(settings, further, async () => JSON.stringify(await documentOf(host)));
    for (const { path, handler } of routes) host.route({ path, handler });
    host.link("Docs", settings.docsPath || settings.redocPath || settings.openapiPath);
  },
});

/** Links the pages of the API to a page about it, and returns the path of theirs; false if there is none. To be called in `prepare`. */
export function linkDocumentation(host: Host, title: string, path: string): string | false {
  const { settings, further } = stateOf(host);
  further.push([title, path]);
  return settings === null ? false : settings.docsPath || settings.redocPath;
}

function documentOf(host: Host): Promise<OpenApiDocument> {
  return documentOnDemand(apiOf(host), stateOf(host).settings ?? openapiOptions.read([]));
}

function apiOf(host: Host): Api {
  const { routes, middleware, guards } = host;
  const enabled = {
    rateLimit: limitsAllRoutes(host),
    circuitBreaker: breaksAllCircuits(host),
    csrf: refusesForgedRequests(host),
  };
  return { routes, middleware, guards, enabled };
}

/** Makes the document, and loads the code for it, when it is first needed: no start waits for it. */
async function documentOnDemand(api: Api, settings: OpenapiSettings): Promise<OpenApiDocument> {
  const { openApiDocument } = await import("./document.js");
  return openApiDocument(api, settings);
}
