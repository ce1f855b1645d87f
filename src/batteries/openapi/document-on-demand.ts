import type { Api } from "./document.js";
import type { OpenapiSettings } from "./options.js";
import type { OpenApiDocument } from "./types.js";

/** Makes the document, and loads the code for it, when it is first needed: no start waits for it. */
export async function documentOnDemand(api: Api, settings: OpenapiSettings): Promise<OpenApiDocument> {
  const { openApiDocument } = await import("./document.js");
  return openApiDocument(api, settings);
}
