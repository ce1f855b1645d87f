import { readFileSync } from "node:fs";
import { createSecureContext, type TlsOptions } from "node:tls";
import type { TlsFields } from "./run-options.js";
import { StartError, summary } from "./start-error.js";

/** Reads certificate and key, and makes sure that they can be used together. */
export function loadTls(tls: TlsFields): TlsOptions {
  const options: TlsOptions = {
    cert: pem(tls.cert, "certificate"),
    key: pem(tls.key, "key"),
    ...(tls.ca !== undefined && { ca: pem(tls.ca, "ca certificate") }),
    ...(tls.passphrase !== undefined && { passphrase: tls.passphrase }),
  };
  try {
    createSecureContext(options);
  } catch (error) {
    throw new StartError(refusal(error), { cause: error });
  }
  return options;
}

function pem(given: string | Uint8Array, what: string): Buffer | string {
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
  return `the TLS certificate or key cannot be used: ${(error as Error).message}`;
}
