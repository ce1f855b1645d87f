import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** As OWASP recommends, with 16 MiB for each hash. A hash holds these numbers, so they can be raised later. */
const cost = { N: 2 ** 14, r: 8, p: 5 };

/** An unknown address takes as long to refuse as a wrong password. */
const hashOfNobody = hashPassword(randomBytes(16).toString("hex"));

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, 32, cost);
  return [cost.N, cost.r, cost.p, salt.toString("base64"), key.toString("base64")].join("$");
}

/** True if the password belongs to the hash. `undefined` stands for an account that does not exist. */
export async function isPassword(password: string, hash: string | undefined): Promise<boolean> {
  const [N, r, p, salt = "", key = ""] = (hash ?? (await hashOfNobody)).split("$");
  const expected = Buffer.from(key, "base64");
  const options = { N: Number(N), r: Number(r), p: Number(p) };
  const given = await derive(password, Buffer.from(salt, "base64"), expected.length, options);
  return timingSafeEqual(given, expected) && hash !== undefined;
}
