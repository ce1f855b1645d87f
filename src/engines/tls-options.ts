import { option } from "../kit/config.js";
import { type Check, is } from "../kit/options.js";

const isPem: Check<string | Uint8Array> = (value) =>
  is.text(value) === undefined || value instanceof Uint8Array ? undefined : "a non-empty string, or bytes";

/** TLS of connections to a server. Certificates and keys are PEM texts, not paths. */
export const tlsFields = {
  /** Certificates of authorities to trust, in place of those of Node. */
  ca: option(isPem),
  /** A client certificate. */
  cert: option(isPem),
  /** The key of `cert`. */
  key: option.secret(isPem),
  /** False accepts any certificate: for tests only. Default true. */
  rejectUnauthorized: option(is.boolean, true),
};
