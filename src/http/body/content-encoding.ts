import { httpError } from "../../errors/http-error.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is, isPlainObject } from "../../kit/options.js";
import type { RequestSource } from "../source.js";

/** A coding of a request body that can be decoded. */
export type BodyCoding = (typeof codings)[number];

const codings = ["gzip", "deflate", "br"] as const;

const decompressOptions = options("decompress", {
  /** The accepted codings. Default all: `["gzip", "deflate", "br"]`. */
  encodings: option(is.list(is.oneOf(...codings)), codings),
  /** The largest allowed ratio of decoded to encoded bytes, beyond the first 64 KiB. Default 100. */
  maxRatio: option(is.number(1), 100),
});

export interface DecompressOptions extends OptionsOf<typeof decompressOptions.fields> {}
export type DecompressRules = SettingsOf<typeof decompressOptions.fields>;

/** The check of the route option `decompress`. */
export function isDecompressOption(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (!isPlainObject(value)) return "true, false or an object with encodings and maxRatio";
  decompressOptions.readGiven([value]);
  return undefined;
}

/** The rules of a route option `decompress`; null for a route that decodes nothing. */
export function decompressRules(given: boolean | DecompressOptions | undefined): DecompressRules | null {
  if (given === undefined || given === false) return null;
  return decompressOptions.read(given === true ? [] : [given]);
}

/**
 * The coding of a body, or null if it has none. Throws 415 for a coding that is not accepted, and for several: clients do not
 * need them, and each multiplies the size of a bomb.
 */
export function bodyCoding(source: RequestSource, rules: DecompressRules | null): BodyCoding | null {
  const header = source.header("content-encoding");
  if (header === undefined) return null;
  const name = header.trim().toLowerCase();
  if (name === "identity" || name === "") return null;
  const coding = (name === "x-gzip" ? "gzip" : name) as BodyCoding;
  if (rules?.encodings.includes(coding)) return coding;
  // RFC 9110 section 12.5.3: the codings that would have been accepted.
  const headers = { "Accept-Encoding": rules?.encodings.join(", ") || "identity" };
  throw httpError("UNSUPPORTED_MEDIA_TYPE", "The Content-Encoding of the body is not supported here.", { headers });
}
