import type { RouteDefinition } from "../../routing/definition.js";
import { jsonSchemaOf } from "../../validation/json-schema.js";
import { isStandardSchema } from "../../validation/standard-schema.js";
import { ErrorResponses } from "./error-responses.js";
import { type Api, operationOf, type Surroundings, socketOf, tagsOf } from "./operation.js";
import { derivedId, OperationIds, pascalCase } from "./operation-id.js";
import type { OpenapiSettings } from "./options.js";
import { Paths, shapeOf, templateOf } from "./paths.js";
import { SchemaComponents } from "./schema-components.js";
import { SecuritySchemes } from "./security.js";
import type { OpenApiDocument, OpenApiInfo, OpenApiObject } from "./types.js";

/** The OpenAPI 3.1 document of an application. Routes that are hidden, or not for users, are not in it. */
export function openApiDocument(api: Api, settings: OpenapiSettings): OpenApiDocument {
  const routes = api.routes.filter((route) => route.options.hidden !== true && route.internal !== true);
  const components = new SchemaComponents(schemaNames(routes, settings.schemas));
  const around: Surroundings = {
    ...api,
    components,
    errors: new ErrorResponses(components),
    security: new SecuritySchemes(),
    ids: new OperationIds(),
  };
  const paths = pathsOf(routes, around);
  const sockets = socketsOf(routes, around);
  const tags = tagList(routes, settings.tags);
  const securitySchemes = around.security.all();
  const settled = components.settle({ paths, sockets, responses: around.errors.shared() });
  const shared = {
    ...(Object.keys(settled.schemas).length > 0 && { schemas: settled.schemas }),
    ...(Object.keys(settled.document.responses).length > 0 && { responses: settled.document.responses }),
    ...(Object.keys(securitySchemes).length > 0 && { securitySchemes }),
  };
  const document: OpenApiDocument = {
    openapi: "3.1.0",
    info: infoOf(settings),
    servers: settings.servers.map((server) => (typeof server === "string" ? { url: server } : server)),
    // None, unless an operation says otherwise.
    security: [],
    ...(tags.length > 0 && { tags }),
    paths: settled.document.paths,
    ...(sockets && { "x-websockets": settled.document.sockets }),
    ...(Object.keys(shared).length > 0 && { components: shared }),
    ...(settings.externalDocs && { externalDocs: settings.externalDocs }),
  };
  return settings.transform?.(document) ?? document;
}

function infoOf(settings: OpenapiSettings): OpenApiInfo {
  const { title, version, summary, description, termsOfService, contact, license } = settings;
  const given = { title, summary, description, termsOfService, contact, license, version };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as OpenApiInfo;
}

function pathsOf(routes: readonly RouteDefinition[], around: Surroundings): Record<string, OpenApiObject> {
  const paths = new Paths();
  const key = (path: string, method: string): string => `${method} ${shapeOf(path)}`;
  const isRest = ({ path }: RouteDefinition): boolean => path.endsWith(":*}");
  const http = routes.filter((route) => !route.websocket);
  const single = new Set(
    http.filter((route) => !isRest(route)).flatMap(({ path, methods }) => methods.map((method) => key(path, method))),
  );
  for (const route of http) {
    for (const method of route.methods) {
      // `/files/{id}` and `/files/{rest:*}` are the same template in OpenAPI: the second is left out.
      if (isRest(route) && single.has(key(route.path, method))) continue;
      paths.add(route.path, method, operationOf(route, method, around));
    }
  }
  return paths.all();
}

function socketsOf(routes: readonly RouteDefinition[], around: Surroundings): OpenApiObject | undefined {
  const sockets = routes.filter((route) => route.websocket);
  if (sockets.length === 0) return undefined;
  return Object.fromEntries(sockets.map((route) => [templateOf(route.path), socketOf(route, around)]));
}

/** The tags with a description first, in the order given, then the others in the order of the routes. */
function tagList(routes: readonly RouteDefinition[], described: Readonly<Record<string, string>>): OpenApiObject[] {
  const names = new Set([...Object.keys(described), ...routes.flatMap(tagsOf)]);
  return [...names].map((name) => {
    const description = Object.hasOwn(described, name) ? described[name] : undefined;
    return { name, ...(description !== undefined && { description }) };
  });
}

/**
 * The schemas that are shared under a name: those that the application named, and objects that several routes use, which
 * are named after the first of them.
 */
function schemaNames(
  routes: readonly RouteDefinition[],
  given: Readonly<Record<string, unknown>>,
): ReadonlyMap<unknown, string> {
  const names = new Map<unknown, string>(Object.entries(given).map(([name, schema]) => [schema, name]));
  const taken = new Set(names.values());
  const uses = new Map<unknown, string[]>();
  for (const { path, methods, options } of routes) {
    const hint = pascalCase(options.operationId ?? derivedId(methods[0]!, path));
    for (const [place, schema] of [
      ["Body", options.body],
      ["Form", options.form],
      ["Response", options.response],
    ] as const) {
      if (schema !== undefined) uses.set(schema, [...(uses.get(schema) ?? []), hint + place]);
    }
  }
  for (const [schema, hints] of uses) {
    const name = hints[0]!;
    if (hints.length < 2 || names.has(schema) || taken.has(name) || !isStandardSchema(schema)) continue;
    const root = jsonSchemaOf(schema, "output");
    if (root === undefined || root["$ref"] !== undefined || root["title"] !== undefined) continue;
    if (root["properties"] === undefined && root["anyOf"] === undefined && root["oneOf"] === undefined) continue;
    names.set(schema, name);
  }
  return names;
}
