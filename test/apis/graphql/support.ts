import { App, type GraphqlOptions } from "stoa";

/** What an application logged as an error. */
export interface Logged {
  readonly lines: { readonly message: string; readonly fields: Record<string, unknown> | undefined }[];
}

/** An application that keeps its errors instead of printing them. */
export function quietApp(): App & { readonly logged: Logged } {
  const logged: Logged = { lines: [] };
  const nothing = (): void => {};
  const error = (message: string, fields?: Record<string, unknown>): void =>
    void logged.lines.push({ message, fields });
  const logger = { debug: nothing, info: nothing, warn: nothing, error, child: () => logger };
  const app = new App();
  app.logger = logger;
  return Object.assign(app, { logged });
}

export function graphqlApp(options: GraphqlOptions): App & { readonly logged: Logged } {
  const app = quietApp();
  app.enableGraphql(options);
  return app;
}

export interface Reply {
  readonly status: number;
  readonly type: string | null;
  readonly headers: Headers;
  readonly body: { data?: Record<string, unknown> | null; errors?: Problem[] } & Record<string, unknown>;
}

export interface Problem {
  readonly message: string;
  readonly path?: (string | number)[];
  readonly extensions?: Record<string, unknown>;
}

/** Sends an operation with POST. */
export async function post(app: App, body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await app.request("/graphql", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/graphql-response+json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return read(response);
}

export async function get(
  app: App,
  parameters: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const query = new URLSearchParams(parameters);
  return read(await app.request(`/graphql?${query}`, { headers }));
}

/** The data of an operation that must succeed. */
export async function dataOf(app: App, query: string, variables?: Record<string, unknown>): Promise<unknown> {
  const { body } = await post(app, { query, variables });
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return body.data;
}

/** The errors of an operation. */
export async function errorsOf(app: App, query: string, variables?: Record<string, unknown>): Promise<Problem[]> {
  return (await post(app, { query, variables })).body.errors ?? [];
}

async function read(response: Response): Promise<Reply> {
  const text = await response.text();
  const { status, headers } = response;
  return {
    status,
    headers,
    type: headers.get("content-type"),
    body: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : { text },
  };
}
