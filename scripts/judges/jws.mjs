/**
 * Judges signatures of tokens by the vectors of C2SP/wycheproof. Their payloads are not claims, so the keys are judged,
 * and not `JwtAuth` as a whole. A vector counts as accepted if its header names the algorithm of the key and the
 * signature is right.
 *
 *     node --import tsx scripts/judges/jws.mjs <json_web_signature_test.json>
 */
import { createSecretKey } from "node:crypto";
import { readFileSync } from "node:fs";

const { algorithms } = await load("algorithms");
const { hmacKey, publicKey } = await load("keys");
const { testGroups } = JSON.parse(readFileSync(process.argv[2], "utf8"));

const counts = { right: 0, wrong: 0, "of another algorithm": 0 };
for (const { public: given, private: secret, comment, tests } of testGroups) {
  // Its vectors are about the encoding of header and payload, which the reader of claims checks.
  if (comment === "base64") continue;
  const jwk = given ?? secret;
  const algorithm = algorithms.get(jwk.alg);
  for (const { tcId, jws, result, comment: about } of tests) {
    if (algorithm === undefined) {
      counts["of another algorithm"]++;
      continue;
    }
    const isRight = accepts(algorithm, jwk, jws) === (result === "valid");
    counts[isRight ? "right" : "wrong"]++;
    if (!isRight) console.log(`WRONG  ${tcId} ${comment}, ${about}: should be ${result}`);
  }
}
console.log(counts);
process.exitCode = counts.wrong > 0 ? 1 : 0;

function accepts(algorithm, jwk, jws) {
  if (typeof jws !== "string" || jws.split(".").length !== 3) return false;
  const [header, payload, signature] = jws.split(".");
  try {
    if (JSON.parse(Buffer.from(header, "base64url").toString()).alg !== jwk.alg) return false;
    const key =
      jwk.kty === "oct"
        ? hmacKey(algorithm, createSecretKey(Buffer.from(jwk.k, "base64url")))
        : publicKey(algorithm, jwk);
    return key.verifies(`${header}.${payload}`, signature);
  } catch {
    return false;
  }
}

function load(name) {
  return import(new URL(`../../src/auth/jwt/${name}.ts`, import.meta.url).href);
}
