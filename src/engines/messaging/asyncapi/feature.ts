import { linkDocumentation } from "../../../batteries/openapi/feature.js";
import { feature } from "../../../feature/feature.js";
import { type Host, perHost } from "../../../feature/host.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { messagingState } from "../state.js";
import { type AsyncapiOptions, type AsyncapiSettings, asyncapiOptions } from "./options.js";
import type { AsyncApiDocument } from "./types.js";

export interface AsyncapiFeature {
  /** Documents the messages of the application: `/asyncapi.json`, and a page that shows it, `/asyncapi`. */
  enableAsyncapi(titleOrOptions?: string | EitherSpelling<AsyncapiOptions>, version?: string): this;
  /** The AsyncAPI document of the handlers and of the topics that are published. */
  asyncapi(): Promise<AsyncApiDocument>;
}

const stateOf = perHost((): { settings: AsyncapiSettings | null } => ({ settings: null }));

export const asyncapiFeature = feature<AsyncapiFeature>({
  name: "AsyncAPI document",
  setup: {
    enableAsyncapi(host, ...given) {
      stateOf(host).settings = asyncapiOptions.read(given);
    },
  },
  methods: { asyncapi: (host) => documentOf(host) },
  async prepare(host) {
    const { settings } = stateOf(host);
    if (settings === null) return;
    const { asyncapiPath, docsPath } = settings;
    const { taggedRoute } = await import("../../../batteries/openapi/serve.js");
    // The document is made with the first request for it: no start waits for it.
    host.route(taggedRoute(asyncapiPath, "application/json", async () => JSON.stringify(await documentOf(host))));
    host.link("Messages", docsPath || asyncapiPath);
    const api = linkDocumentation(host, "Messages", docsPath || asyncapiPath);
    if (docsPath === false) return;
    const { asyncapiPage } = await import("./page.js");
    const links = [["AsyncAPI document", asyncapiPath] as const, ...(api ? [["HTTP API", api] as const] : [])];
    host.route({ path: docsPath, handler: async () => asyncapiPage(await documentOf(host), docsPath, links) });
  },
});

/** Makes the document, and loads the code for it, when it is first needed. */
async function documentOf(host: Host): Promise<AsyncApiDocument> {
  const { asyncApiDocument } = await import("./document.js");
  const { definitions, brokers } = messagingState(host);
  return asyncApiDocument(definitions, [...brokers.keys()], stateOf(host).settings ?? asyncapiOptions.read([]));
}
