import { isUtf8 } from "node:buffer";
import { httpError } from "../../errors/http-error.js";
import { utf8Of } from "../../kit/encoding.js";
import { parseParameters } from "../fields/parameters.js";

/** The boundary that a content type gives; 415 unless it is multipart/form-data, 400 without a sound boundary. */
export function multipartBoundary(contentType: string | undefined): string {
  const type = contentType === undefined ? undefined : parseParameters(contentType);
  if (type?.value !== "multipart/form-data") throw httpError("UNSUPPORTED_MEDIA_TYPE");
  const boundary = type.parameters.get("boundary");
  if (boundary === undefined || !soundBoundary.test(boundary)) {
    throw httpError("MALFORMED_FORM", "The content type of the form gives no valid boundary.");
  }
  return boundary;
}

/** Text of a form; a form is UTF-8 (RFC 7578 section 5.1.2). */
export function formText(bytes: Uint8Array): string {
  checkFormText(bytes);
  return utf8Of(bytes);
}

/** Throws 400 unless the bytes are UTF-8. */
export function checkFormText(bytes: Uint8Array): void {
  if (!isUtf8(bytes)) throw httpError("MALFORMED_FORM", "A field of the form is not valid UTF-8.");
}

/** RFC 2046 section 5.1.1. */
const soundBoundary = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;
