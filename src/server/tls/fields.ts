import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type Check, is } from "../../kit/options.js";

/** PEM text, its bytes, or the path of a file that holds it. */
export type Pem = string | Uint8Array;

/** Milliseconds after which the keys of session tickets are replaced: who gets a key can read older sessions. */
export const ticketKeyLife: number = 12 * 3600 * 1000;

const isPem: Check<Pem> = is.either<[string, Uint8Array]>(is.text, (value) =>
  value instanceof Uint8Array ? undefined : "bytes",
);

const certificateFields = {
  /** The certificate: PEM text, its bytes, or the path of a file. */
  cert: option.required(isPem),
  /** The key of the certificate: PEM text, its bytes, or the path of a file. */
  key: option.required(isPem),
  /** Further certificates: those between yours and the root. */
  ca: option(isPem),
  /** Opens an encrypted key. */
  passphrase: option.secret(is.string),
};

const clientFields = {
  // Without its own authorities, Node would accept the certificates of all public authorities.
  /** The authorities whose certificates clients must have. */
  ca: option.required(isPem),
  /** False if clients may connect without one; see `request.clientCertificate`. Default true. */
  required: option(is.boolean, true),
};

/** A certificate with its key. */
export interface CertificateFields extends Given<typeof certificateFields, "cert" | "key"> {}

export interface ClientCertificateFields extends Given<typeof clientFields, "ca"> {}

const certificateOptions = options("tls.certificates", certificateFields);
const clientOptions = options("tls.clientCertificates", clientFields);

const tlsFields = {
  ...certificateFields,
  /** Certificates for other hosts. A client gets the first one that is valid for the host that it asks for. */
  certificates: option.made(
    is.list(is.object as Check<CertificateFields>),
    (list) => list.map((item) => certificateOptions.read([item])),
    [],
  ),
  /** Requests certificates of clients. */
  clientCertificates: option.made<ClientCertificateFields, SettingsOf<typeof clientFields> | undefined>(
    is.object,
    (given) => clientOptions.read([given]),
    undefined,
  ),
  /** The lowest version of TLS that clients may use. Default "TLSv1.2". */
  minVersion: option(is.oneOf("TLSv1.2", "TLSv1.3"), "TLSv1.2"),
  /** The allowed ciphers, in the format of OpenSSL. Default: those with forward secrecy and authenticated encryption. */
  ciphers: option(is.text),
  /** False if files are read again after SIGHUP only, and not when they change. Default true. */
  watch: option(is.boolean, true),
};

/** The options of TLS as they are given. */
export interface TlsFields extends Given<typeof tlsFields, "cert" | "key"> {}

export type TlsSettings = SettingsOf<typeof tlsFields>;
export type CertificateSettings = SettingsOf<typeof certificateFields>;

const tlsOptions = options("tls", tlsFields);

/** The option `tls` of a server. */
export const tlsOption = option.made<TlsFields & EitherSpelling<TlsFields>, TlsSettings | undefined>(
  is.object,
  (given) => tlsOptions.read([given]),
  undefined,
);

type Given<F, Required extends keyof F> = OptionsOf<F> & { readonly [K in Required]-?: OptionsOf<F>[K] };
