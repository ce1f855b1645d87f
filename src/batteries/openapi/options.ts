import { type Check, type Checks, is, isPlainObject, readCall, show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { parsePattern } from "../../routing/pattern.js";
import { type DescribedSchema, isDescribed } from "../../validation/body-validator.js";
import { isStandardSchema, type StandardSchema } from "../../validation/standard-schema.js";
import type { OpenApiDocument, OpenApiObject, OpenApiServer } from "./types.js";

export interface OpenapiOptions {
  /** The title of the API. Default "Framework API". */
  readonly title?: string;
  /** The version of the API. Default "1.4.0". */
  readonly version?: string;
  /** A short description of the API. */
  readonly summary?: string;
  /** The description of the API, in Markdown. */
  readonly description?: string;
  /** The URL of the terms of service. */
  readonly termsOfService?: string;
  /** The person or organisation to contact about the API. */
  readonly contact?: { readonly name?: string; readonly url?: string; readonly email?: string };
  /** The license of the API: its name, with its SPDX identifier or its URL. */
  readonly license?: { readonly name: string; readonly identifier?: string; readonly url?: string };
  /** Address of the API. Default: that of the document. */
  readonly servers?: readonly (string | OpenApiServer)[];
  /** Descriptions of tags, by name; they are listed in this order. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Names of schemas: each is shared under its name wherever it is used. */
  readonly schemas?: Readonly<Record<string, StandardSchema | DescribedSchema>>;
  /** Further documentation, at another address. */
  readonly externalDocs?: { readonly url: string; readonly description?: string };
  /** Path of the document. Default "/openapi.json". */
  readonly openapiPath?: string;
  /** Path of Swagger UI; false for none. Default "/docs". */
  readonly docsPath?: string | false;
  /** Path of Redoc; false for none. Default "/redoc". */
  readonly redocPath?: string | false;
  /** Changes the finished document, or returns another. */
  readonly transform?: (document: OpenApiDocument) => OpenApiDocument | void;
}

type Defaults = "title" | "version" | "openapiPath" | "docsPath" | "redocPath";
export type OpenapiSettings = Omit<OpenapiOptions, Defaults> & Required<Pick<OpenapiOptions, Defaults>>;

export const defaultOpenapi: OpenapiSettings = {
  title: "Framework API",
  version: "1.4.0",
  openapiPath: "/openapi.json",
  docsPath: "/docs",
  redocPath: "/redoc",
};

/** Reads the arguments of `enableOpenapi`: options, or the contract's title and version. */
export function readOpenapiOptions(given: readonly unknown[]): OpenapiSettings {
  const settings = {
    ...defaultOpenapi,
    ...readCall<OpenapiOptions>("enableOpenapi()", given, ["title", "version"], checks),
  };
  const paths = [settings.openapiPath, settings.docsPath, settings.redocPath].filter((path) => path !== false);
  const twice = paths.find((path, index) => paths.indexOf(path) !== index);
  if (twice !== undefined) throw new ValueError(`enableOpenapi() was given the path ${show(twice)} twice`);
  return settings;
}

/** The name of a component, as the specification allows it. */
export const componentName = /^[A-Za-z0-9._-]+$/;

const plainPath: Check = (value) => {
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

const strings = (value: unknown): boolean =>
  isPlainObject(value) && Object.values(value).every((item) => item === undefined || typeof item === "string");

const checks: Checks<OpenapiOptions> = {
  title: is.text,
  version: is.text,
  summary: is.string,
  description: is.string,
  termsOfService: is.string,
  contact: (value) => (strings(value) ? undefined : "an object with name, url or email"),
  license: (value) =>
    strings(value) && "name" in (value as OpenApiObject) ? undefined : "an object with name, and identifier or url",
  servers: (value) =>
    Array.isArray(value) && value.length > 0 && value.every(isServer)
      ? undefined
      : "a list of addresses, or of { url, description }",
  tags: (value) => (strings(value) ? undefined : "an object of descriptions by tag"),
  schemas: (value) => {
    const sound =
      isPlainObject(value) &&
      Object.entries(value).every(
        ([name, schema]) => componentName.test(name) && (isStandardSchema(schema) || isDescribed(schema)),
      );
    return sound ? undefined : "an object of schemas by name (letters, digits, '.', '_' and '-')";
  },
  externalDocs: (value) => (strings(value) && "url" in (value as OpenApiObject) ? undefined : "an object with url"),
  openapiPath: plainPath,
  docsPath: is.either(plainPath, is.oneOf(false)),
  redocPath: is.either(plainPath, is.oneOf(false)),
  transform: is.function,
};
