import { type Checks, is, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";

/** PEM text, its bytes, or the path of a file that holds it. */
export type Pem = string | Uint8Array;

/** A certificate with its key. */
export interface CertificateFields {
  /** The certificate: PEM text, its bytes, or the path of a file. */
  readonly cert: Pem;
  /** The key of the certificate: PEM text, its bytes, or the path of a file. */
  readonly key: Pem;
  /** Further certificates: those between yours and the root. */
  readonly ca?: Pem | undefined;
  /** Opens an encrypted key. */
  readonly passphrase?: string | undefined;
}

export interface ClientCertificateFields {
  /** The authorities whose certificates clients must have. */
  readonly ca: Pem;
  /** False if clients may connect without one; see `request.clientCertificate`. Default true. */
  readonly required?: boolean | undefined;
}

export interface TlsFields extends CertificateFields {
  /** Certificates for other hosts. A client gets the first one that is valid for the host that it asks for. */
  readonly certificates?: readonly CertificateFields[] | undefined;
  /** Requests certificates of clients. */
  readonly clientCertificates?: ClientCertificateFields | undefined;
  /** The lowest version of TLS that clients may use. Default "TLSv1.2". */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3" | undefined;
  /** The allowed ciphers, in the format of OpenSSL. Default: those with forward secrecy and authenticated encryption. */
  readonly ciphers?: string | undefined;
  /** False if files are read again after SIGHUP only, and not when they change. Default true. */
  readonly watch?: boolean | undefined;
}

/** Milliseconds after which the keys of session tickets are replaced: who gets a key can read older sessions. */
export const ticketKeyLife: number = 12 * 3600 * 1000;

const isPem = is.either(is.text, (value) => (value instanceof Uint8Array ? undefined : "bytes"));
const certificateChecks: Checks<CertificateFields> = { cert: isPem, key: isPem, ca: isPem, passphrase: is.string };
const checks: Checks<TlsFields> = {
  ...certificateChecks,
  certificates: is.list(is.object),
  clientCertificates: is.object,
  minVersion: is.oneOf("TLSv1.2", "TLSv1.3"),
  ciphers: is.text,
  watch: is.boolean,
};

export function readTls(given: unknown): TlsFields {
  const tls = complete("tls", readOptions<TlsFields>("tls", given, checks));
  return {
    ...tls,
    ...(tls.certificates && {
      certificates: tls.certificates.map((item) =>
        complete("tls.certificates", readOptions<CertificateFields>("tls.certificates", item, certificateChecks)),
      ),
    }),
    ...(tls.clientCertificates && { clientCertificates: readClientCertificates(tls.clientCertificates) }),
  };
}

function readClientCertificates(given: unknown): ClientCertificateFields {
  const owner = "tls.clientCertificates";
  const fields = readOptions<ClientCertificateFields>(owner, given, { ca: isPem, required: is.boolean });
  const { ca } = fields;
  // Without authorities of its own, Node would accept the certificates of all public authorities.
  if (ca === undefined) throw new ValueError(`${owner} needs 'ca'`);
  return { ...fields, ca };
}

function complete<T extends CertificateFields>(owner: string, fields: Partial<T>): T {
  if (fields.cert === undefined || fields.key === undefined) {
    throw new ValueError(`${owner} needs both 'cert' and 'key'`);
  }
  return fields as T;
}
