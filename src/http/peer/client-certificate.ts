import type { PeerCertificate } from "node:tls";

/** The certificate of a client. */
export interface ClientCertificate {
  /** True if one of the configured authorities has signed it and it is valid now. */
  readonly authorized: boolean;
  /** The distinguished name: `{ CN: "billing", O: "Example" }`. */
  readonly subject: Readonly<Record<string, string | readonly string[]>>;
  readonly issuer: Readonly<Record<string, string | readonly string[]>>;
  /** `DNS:billing.example, URI:spiffe://example/billing`; undefined if it has none. */
  readonly subjectAltName: string | undefined;
  readonly serialNumber: string;
  /** The SHA-256 fingerprint, as pairs of hexadecimal digits with colons. */
  readonly fingerprint256: string;
  readonly validFrom: Date;
  readonly validTo: Date;
  /** In DER. */
  readonly raw: Uint8Array;
}

interface SecureSocket {
  readonly authorized?: boolean;
  getPeerCertificate?(): Partial<PeerCertificate>;
}

/** The certificate of the client at the other end of a socket; null if it has none. */
export function clientCertificateOf(socket: object | null): ClientCertificate | null {
  const { authorized, getPeerCertificate } = (socket ?? {}) as SecureSocket;
  const peer = getPeerCertificate?.call(socket);
  if (!peer?.raw) return null;
  return {
    authorized: authorized === true,
    subject: { ...peer.subject } as ClientCertificate["subject"],
    issuer: { ...peer.issuer } as ClientCertificate["issuer"],
    subjectAltName: peer.subjectaltname,
    serialNumber: peer.serialNumber ?? "",
    fingerprint256: peer.fingerprint256 ?? "",
    validFrom: new Date(peer.valid_from ?? ""),
    validTo: new Date(peer.valid_to ?? ""),
    raw: peer.raw,
  };
}
