import { HttpError, httpError } from "../../errors/http-error.js";
import { strictTextOf } from "../../kit/encoding.js";
import { findForbidden, maxJsonDepth } from "./json-scan.js";

const tooDeep = `The body is nested deeper than ${maxJsonDepth} levels.`;

/** True for the error of a body that is nested too deep. */
export function isTooDeep(error: unknown): boolean {
  return error instanceof HttpError && error.message === tooDeep;
}

/** Parses a body as JSON. Everything but exactly one valid document is refused with 400. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw httpError("EMPTY_BODY");
  const text = strictTextOf(bytes);
  if (text === null) throw httpError("MALFORMED_JSON", "The body is not valid UTF-8.");
  const found = findForbidden(bytes, text);
  if (found === "depth") throw httpError("MALFORMED_JSON", tooDeep);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The engine's message quotes the input, which must not be reflected.
    throw httpError("MALFORMED_JSON");
  }
  if (found === "key") throw httpError("MALFORMED_JSON", "The body holds a key that is not allowed.");
  if (found === "number") throw httpError("MALFORMED_JSON", "The body holds a number that is out of range.");
  return value;
}

/** The content types of JSON: application/json and all that end with `+json`, with well-formed parameters. */
const jsonContentType =
  /^[ \t]*(?:application\/json|[!#$%&'*.^_`|~0-9A-Za-z-]+\/[!#$%&'*.^_`|~0-9A-Za-z-]+\+json)[ \t]*(?:;[ \t]*(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[^"\\\r\n]*")[ \t]*)?)*$/i;

/** Throws 415 if a request says that its body is something else than JSON. A body without a type may be JSON. */
export function requireJsonType(source: { header(name: string): string | undefined }): void {
  const type = source.header("content-type");
  if (type !== undefined && !isJsonType(type)) {
    throw httpError("UNSUPPORTED_MEDIA_TYPE", "JSON is expected here, sent with Content-Type: application/json.");
  }
}

export function isJsonType(contentType: string): boolean {
  return contentType === "application/json" || jsonContentType.test(contentType);
}
