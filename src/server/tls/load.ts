import { constants, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContext, type SecureContextOptions, type TlsOptions } from "node:tls";
import { StartError, summary } from "../start-error.js";
import type { CertificateSettings, Pem, TlsSettings } from "./fields.js";

/** Ephemeral keys and authenticated encryption only: no CBC, no static RSA. The names with underscores are of TLS 1.3. */
const modernCiphers = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

/** The certificates and keys of a server, read and checked. */
export interface LoadedTls {
  readonly options: TlsOptions;
  /** The certificate for a host other than those of the first certificate; undefined for the first one. */
  contextFor(host: string): SecureContext | undefined;
}

/** Reads certificates and keys, and makes sure that they can be used together. */
export function loadTls(tls: TlsSettings): LoadedTls {
  const { clientCertificates } = tls;
  const common: SecureContextOptions = {
    minVersion: tls.minVersion,
    ciphers: tls.ciphers ?? modernCiphers,
    honorCipherOrder: true,
    // A ticket would let a client in whose authority is no longer trusted.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | (clientCertificates ? constants.SSL_OP_NO_TICKET : 0),
    ...(clientCertificates && { ca: pem(clientCertificates.ca, "ca certificate of clients") }),
  };
  const first = loadCertificate(tls, common);
  const others = tls.certificates.map((fields) => loadCertificate(fields, common));
  return {
    options: {
      ...first.options,
      ...(clientCertificates && { requestCert: true, rejectUnauthorized: clientCertificates.required }),
    },
    contextFor(host) {
      if (first.certificate.checkHost(host) !== undefined) return undefined;
      return others.find(({ certificate }) => certificate.checkHost(host) !== undefined)?.context;
    },
  };
}

interface LoadedCertificate {
  readonly options: SecureContextOptions;
  readonly context: SecureContext;
  readonly certificate: X509Certificate;
}

function loadCertificate(fields: CertificateSettings, common: SecureContextOptions): LoadedCertificate {
  const cert = pem(fields.cert, "certificate");
  const options: SecureContextOptions = {
    ...common,
    // With the chain, not as `ca`, which names the authorities of clients.
    cert: fields.ca === undefined ? cert : `${cert}\n${pem(fields.ca, "ca certificate")}`,
    key: pem(fields.key, "key"),
    ...(fields.passphrase !== undefined && { passphrase: fields.passphrase }),
  };
  try {
    return { options, context: createSecureContext(options), certificate: new X509Certificate(cert) };
  } catch (error) {
    throw new StartError(refusal(error), { cause: error });
  }
}

function pem(given: Pem, what: string): Buffer | string {
  if (typeof given !== "string") return Buffer.from(given);
  if (given.includes("-----BEGIN ")) return given;
  try {
    return readFileSync(given);
  } catch (error) {
    throw new StartError(`cannot read the TLS ${what} ${given}: ${reason(error)}`, { cause: error });
  }
}

function reason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES") return "no permission";
  return code === "EISDIR" ? "it is a directory" : summary(error);
}

function refusal(error: unknown): string {
  const text = `${(error as NodeJS.ErrnoException).code ?? ""} ${(error as Error).message}`.toLowerCase();
  if (/key.values.mismatch/.test(text)) return "the TLS key does not belong to the certificate";
  if (/bad.decrypt|interrupted.or.cancelled|bad.password/.test(text)) {
    return "the TLS key is encrypted and the passphrase is missing or wrong";
  }
  if (/no.cipher.match/.test(text)) return "no cipher of option 'ciphers' in tls is known";
  return `the TLS certificate or key cannot be used: ${(error as Error).message}`;
}
