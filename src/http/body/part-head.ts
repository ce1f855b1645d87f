import { isUtf8 } from "node:buffer";
import { httpError } from "../../errors/http-error.js";
import { parseParameters } from "../fields/parameters.js";

/** The head of a part of a multipart form. */
export interface PartHead {
  readonly name: string;
  /** The last component of the name the client gave; undefined when the part is not a file. */
  readonly filename: string | undefined;
  /** The content type from the client. Do not trust it. Default text/plain, for a file application/octet-stream. */
  readonly contentType: string;
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly isFile: boolean;
}

/** Reads the header fields of a part (RFC 7578 section 4), without the empty line behind them. */
export function parsePartHead(bytes: Buffer): PartHead {
  if (!isUtf8(bytes)) throw malformed("The header of a part is not valid UTF-8.");
  const headers = parseFields(bytes.toString("utf8"));
  const disposition = parseParameters(headers.get("content-disposition") ?? "");
  const name = disposition?.parameters.get("name");
  if (disposition?.value !== "form-data" || name === undefined) {
    throw malformed("A part has no Content-Disposition that names a field.");
  }
  if (!plainEncodings.includes(headers.get("content-transfer-encoding")?.toLowerCase() ?? "binary")) {
    throw malformed("A part has a transfer encoding, which forms do not use.");
  }
  // RFC 7578 section 4.2: `filename*` is not for forms, so it counts as unknown and is ignored.
  const filename = disposition.parameters.get("filename");
  return {
    name: unescapeQuotes(name),
    filename: filename === undefined ? undefined : lastComponent(unescapeQuotes(filename)),
    contentType: headers.get("content-type") ?? (filename === undefined ? "text/plain" : "application/octet-stream"),
    headers,
    isFile: filename !== undefined,
  };
}

const plainEncodings = ["7bit", "8bit", "binary"];
const field = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\x00-\x08\x0a-\x1f\x7f]*)$/;

function parseFields(text: string): Map<string, string> {
  const headers = new Map<string, string>();
  if (text === "") return headers;
  for (const line of text.split("\r\n")) {
    const match = field.exec(line);
    if (!match) throw malformed("The header of a part is not valid.");
    const name = match[1]!.toLowerCase();
    if (headers.has(name)) throw malformed("The header of a part gives a field twice.");
    headers.set(name, match[2]!.trim());
  }
  return headers;
}

/** Browsers send a quote in a name as %22, and leave a percent sign as it is (the HTML standard, form submission). */
function unescapeQuotes(text: string): string {
  return text.includes("%22") ? text.replaceAll("%22", '"') : text;
}

/** The last component of a path: old browsers and attackers send whole paths, which must not reach the disk. */
function lastComponent(filename: string): string {
  const name = filename.slice(Math.max(filename.lastIndexOf("/"), filename.lastIndexOf("\\")) + 1);
  return name === "." || name === ".." ? "" : name;
}

function malformed(detail: string): Error {
  return httpError("MALFORMED_FORM", detail);
}
