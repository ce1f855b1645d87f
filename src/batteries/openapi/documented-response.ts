import { type Check, isPlainObject } from "../../kit/options.js";
import { type DescribedSchema, isDescribed } from "../../validation/body-validator.js";
import { isStandardSchema, type StandardSchema } from "../../validation/standard-schema.js";

/** A response that a route may give, for the documentation. */
export interface DocumentedResponse {
  readonly description?: string;
  readonly schema?: StandardSchema | DescribedSchema;
  /** Default: JSON, or text when the schema is one of strings. */
  readonly contentType?: string;
  readonly example?: unknown;
}

const allowed =
  "an object of statuses from 200 to 599, each with a description, a schema, { description, schema } or false";
const members = new Set(["description", "schema", "contentType", "content_type", "example"]);

export const areResponses: Check = (value) => {
  if (!isPlainObject(value)) return allowed;
  const sound = Object.entries(value).every(([status, given]) => /^[2-5]\d\d$/.test(status) && isResponse(given));
  return sound ? undefined : allowed;
};

function isResponse(given: unknown): boolean {
  if (typeof given === "string" || given === false || isSchema(given)) return true;
  if (!isPlainObject(given) || !Object.keys(given).every((key) => members.has(key))) return false;
  const { description, schema } = given;
  return (description === undefined || typeof description === "string") && (schema === undefined || isSchema(schema));
}

function isSchema(value: unknown): boolean {
  return isStandardSchema(value) || isDescribed(value);
}
