import { HttpError } from "../../../errors/http-error.js";
import type { Form, FormFile } from "../../../http/body/form.js";
import { parseJson } from "../../../http/json/json.js";
import type { Request } from "../../../http/request.js";
import { isPlainObject } from "../../../kit/options.js";
import { BadRequest } from "./read-request.js";
import type { UploadSettings } from "./upload-options.js";

const multipart = /^[ \t]*multipart\/form-data[ \t]*(?:;|$)/i;

export function isMultipart(type: string | undefined): boolean {
  return type !== undefined && multipart.test(type);
}

/** A page of another site can send a form, but none of these without asking first: each of them needs a preflight. */
const preflightFields = ["graphql-preflight", "apollo-require-preflight", "x-apollo-operation-name"];

/**
 * The body of a GraphQL multipart request: the fields `operations` and `map`, which says where files stand in the variables
 * of the operations, and the files. https://github.com/jaydenseric/graphql-multipart-request-spec
 */
export function readUpload(request: Request, { maxFiles, maxFileSize }: UploadSettings): unknown {
  if (!preflightFields.some((name) => request.source.header(name))) {
    return new BadRequest(403, "A request with files needs the header field GraphQL-Preflight: 1.");
  }
  try {
    // Two fields, and files. There are as many parts at most.
    const form = request.form({ maxFiles, maxParts: maxFiles + 2, ...(maxFileSize !== undefined && { maxFileSize }) });
    const operations = jsonOf(form, "operations");
    place(operations, jsonOf(form, "map"), form);
    return operations;
  } catch (error) {
    if (error instanceof HttpError) return new BadRequest(error.status, error.message);
    throw error;
  }
}

function jsonOf(form: Form, name: string): unknown {
  const text = form.get(name);
  if (typeof text !== "string") throw new HttpError(400, `The form has no field '${name}'.`);
  try {
    return parseJson(Buffer.from(text));
  } catch (error) {
    if (error instanceof HttpError) throw new HttpError(400, `The field '${name}' of the form must be JSON.`);
    throw error;
  }
}

/** Puts each file where `map` says: at places in variables that are null. */
function place(operations: unknown, map: unknown, form: Form): void {
  if (!isPlainObject(map)) throw new HttpError(400, "The field 'map' of the form must be an object.");
  const names = form.files.map(({ name }) => name);
  const unused = names.find((name, at) => !Object.hasOwn(map, name) || names.indexOf(name) !== at);
  if (unused !== undefined) throw new HttpError(400, "A file of the form is not in 'map', or is in it twice.");
  for (const [name, paths] of Object.entries(map)) {
    const file = form.file(name);
    if (file === undefined) throw new HttpError(400, "A file of 'map' is not in the form.");
    if (!Array.isArray(paths) || paths.length === 0 || !paths.every((path) => typeof path === "string")) {
      throw new HttpError(400, "A file of 'map' needs a list of places.");
    }
    for (const path of paths as string[]) set(operations, path, file);
  }
}

function set(operations: unknown, path: string, file: FormFile): void {
  const keys = path.split(".");
  const last = keys.pop()!;
  let at: unknown = operations;
  // In a list of operations, the first key is the place in the list.
  const isBelowVariables = keys[Array.isArray(operations) ? 1 : 0] === "variables";
  for (const key of keys) at = memberOf(at, key);
  if (!isBelowVariables || memberOf(at, last) !== null) {
    throw new HttpError(400, "A place of 'map' is not null, or not in the variables.");
  }
  (at as Record<string, unknown>)[last] = file;
}

/** An own member, so that no name leads to a prototype; undefined if there is none. */
function memberOf(value: unknown, key: string): unknown {
  const isMember = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  return isMember ? (value as Record<string, unknown>)[key] : undefined;
}
