/**
 * A JSON Web Key (RFC 7517) with the members that Node.js reads. Written out here because the types of Node.js name it in
 * another place in each release: `JsonWebKey` of `node:crypto` until 25, `webcrypto.JsonWebKey` from 26 on.
 */
export interface JsonWebKey {
  crv?: string;
  d?: string;
  dp?: string;
  dq?: string;
  e?: string;
  k?: string;
  kty?: string;
  n?: string;
  p?: string;
  q?: string;
  qi?: string;
  x?: string;
  y?: string;
}

/** A JSON Web Key with further members, such as `kid` and `use`. */
export type NamedJsonWebKey = JsonWebKey & Readonly<Record<string, unknown>>;
