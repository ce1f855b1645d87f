import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { type Check, is, isPlainObject, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { parsePattern } from "../../routing/pattern.js";
import { type DescribedSchema, isDescribed } from "../../validation/body-validator.js";
import { isStandardSchema, type StandardSchema } from "../../validation/standard-schema.js";
import type { OpenApiDocument, OpenApiServer } from "./types.js";

/** The name of a component, as the specification allows it. */
export const componentName = /^[A-Za-z0-9._-]+$/;

export const plainPath: Check<string> = (value) => {
  const allowed = "a path without parameters that begins with '/' and does not end with it";
  if (typeof value !== "string" || !value.startsWith("/") || value.endsWith("/")) return allowed;
  try {
    return parsePattern(value).paramNames.length === 0 ? undefined : allowed;
  } catch {
    return allowed;
  }
};

const isServer = (value: unknown): boolean => {
  if (typeof value === "string") return value !== "";
  return isPlainObject(value) && typeof value["url"] === "string";
};

const servers: Check<readonly (string | OpenApiServer)[]> = (value) =>
  Array.isArray(value) && value.length > 0 && value.every(isServer)
    ? undefined
    : "a list of addresses, or of { url, description }";

/** An object of strings, with this member. */
const strings =
  (allowed: string, needed?: string): Check<never> =>
  (value) => {
    const sound =
      isPlainObject(value) &&
      Object.values(value).every((item) => item === undefined || typeof item === "string") &&
      (needed === undefined || needed in value);
    return sound ? undefined : allowed;
  };

export const namedSchemas: Check<Readonly<Record<string, StandardSchema | DescribedSchema>>> = (value) => {
  const sound =
    isPlainObject(value) &&
    Object.entries(value).every(
      ([name, schema]) => componentName.test(name) && (isStandardSchema(schema) || isDescribed(schema)),
    );
  return sound ? undefined : "an object of schemas by name (letters, digits, '.', '_' and '-')";
};

export function differentPaths(owner: string, ...given: readonly (string | false)[]): void {
  const paths = given.filter((path) => path !== false);
  const twice = paths.find((path, index) => paths.indexOf(path) !== index);
  if (twice !== undefined) throw new ValueError(`${owner} was given the path ${show(twice)} twice`);
}

type Contact = { readonly name?: string; readonly url?: string; readonly email?: string };
type License = { readonly name: string; readonly identifier?: string; readonly url?: string };
type ExternalDocs = { readonly url: string; readonly description?: string };

export const openapiOptions = options(
  "enableOpenapi()",
  {
    /** The title of the API. Default "Framework API". */
    title: option(is.text, "Framework API"),
    /** The version of the API. Default "1.4.0". */
    version: option(is.text, "1.4.0"),
    /** A short description of the API. */
    summary: option(is.string),
    /** The description of the API, in Markdown. */
    description: option(is.string),
    /** The URL of the terms of service. */
    termsOfService: option(is.string),
    /** The person or organisation to contact about the API. */
    contact: option<Contact>(strings("an object with name, url or email")),
    /** The license of the API: its name, with its SPDX identifier or its URL. */
    license: option<License>(strings("an object with name, and identifier or url", "name")),
    /** Address of the API. Default: that of the document. */
    servers: option(servers, ["/"], "that of the document"),
    /** Descriptions of tags, by name; they are listed in this order. */
    tags: option<Readonly<Record<string, string>>>(strings("an object of descriptions by tag"), {}),
    /** Names of schemas: each is shared under its name wherever it is used. */
    schemas: option(namedSchemas, {}),
    /** Further documentation, at another address. */
    externalDocs: option<ExternalDocs>(strings("an object with url", "url")),
    /** Path of the document. Default "/openapi.json". */
    openapiPath: option(plainPath, "/openapi.json"),
    /** Path of Swagger UI; false for none. Default "/docs". */
    docsPath: option(is.either(plainPath, is.oneOf(false)), "/docs"),
    /** Path of Redoc; false for none. Default "/redoc". */
    redocPath: option(is.either(plainPath, is.oneOf(false)), "/redoc"),
    /** Changes the finished document, or returns another. */
    transform: option<(document: OpenApiDocument) => OpenApiDocument | void>(is.function),
  },
  {
    order: ["title", "version"],
    refine: ({ openapiPath, docsPath, redocPath }) =>
      differentPaths("enableOpenapi()", openapiPath, docsPath, redocPath),
  },
);

export interface OpenapiOptions extends OptionsOf<typeof openapiOptions.fields> {}
export type OpenapiSettings = SettingsOf<typeof openapiOptions.fields>;
