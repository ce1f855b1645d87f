import { App, type OpenapiOptions } from "stoa";

// biome-ignore lint/suspicious/noExplicitAny: tests look into any document
export type Any = any;

/** The document of an application, as it is served. */
export async function documentOf(build: (app: App) => unknown, options: OpenapiOptions = {}): Promise<Any> {
  const app = new App();
  build(app);
  app.enableOpenapi(options);
  const response = await app.request("/openapi.json");
  return response.json();
}

/** The first operation of the first path. */
export async function operationOf(build: (app: App) => unknown, options?: OpenapiOptions): Promise<Any> {
  const { paths } = await documentOf(build, options);
  const [item] = Object.values(paths) as Any[];
  return Object.values(item)[0];
}
