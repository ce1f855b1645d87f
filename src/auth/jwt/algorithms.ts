import { nodeCrypto } from "../../kit/node-modules.js";

export type JwtAlgorithm =
  | "HS256"
  | "HS384"
  | "HS512"
  | "RS256"
  | "RS384"
  | "RS512"
  | "PS256"
  | "PS384"
  | "PS512"
  | "ES256"
  | "ES384"
  | "ES512"
  | "EdDSA";

/** An algorithm of RFC 7518 (or RFC 8037) in the terms of node:crypto. */
export interface Algorithm {
  readonly name: JwtAlgorithm;
  /** `kty` of its keys in a JWK. */
  readonly keyType: "oct" | "RSA" | "EC" | "OKP";
  /** Null where the algorithm has its own hash. */
  readonly hash: string | null;
  /** `asymmetricKeyType` of the keys that can be used. */
  readonly accepts: readonly string[];
  /** The curve, where the algorithm prescribes one. */
  readonly curve: string | null;
  /** Options of `sign` and `verify` beside the key. */
  readonly parameters: {
    readonly dsaEncoding?: "ieee-p1363";
    readonly padding?: number;
    readonly saltLength?: number;
  };
}

const curves: Readonly<Record<string, string>> = { "256": "prime256v1", "384": "secp384r1", "512": "secp521r1" };

/** RFC 7518 section 3.5: the salt is as long as the hash. */
const pss = {
  get padding(): number {
    return nodeCrypto().constants.RSA_PKCS1_PSS_PADDING;
  },
  get saltLength(): number {
    return nodeCrypto().constants.RSA_PSS_SALTLEN_DIGEST;
  },
};

/** RFC 7518 section 3.4: r and s side by side, where node:crypto has them in ASN.1 by default. */
const sideBySide = { dsaEncoding: "ieee-p1363" } as const;

export const algorithms: ReadonlyMap<string, Algorithm> = new Map(
  [...["256", "384", "512"].flatMap(ofSize), edwards()].map((algorithm) => [algorithm.name, algorithm]),
);

function ofSize(size: string): Algorithm[] {
  const hash = `sha${size}`;
  const name = (family: string): JwtAlgorithm => `${family}${size}` as JwtAlgorithm;
  return [
    { name: name("HS"), keyType: "oct", hash, accepts: [], curve: null, parameters: {} },
    { name: name("RS"), keyType: "RSA", hash, accepts: ["rsa"], curve: null, parameters: {} },
    { name: name("PS"), keyType: "RSA", hash, accepts: ["rsa", "rsa-pss"], curve: null, parameters: pss },
    { name: name("ES"), keyType: "EC", hash, accepts: ["ec"], curve: curves[size]!, parameters: sideBySide },
  ];
}

function edwards(): Algorithm {
  return {
    name: "EdDSA",
    keyType: "OKP",
    hash: null,
    accepts: ["ed25519", "ed448"],
    curve: null,
    parameters: {},
  };
}
