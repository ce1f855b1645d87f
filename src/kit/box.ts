import { nodeCrypto } from "./node-modules.js";

const vectorBytes = 12;
const tagBytes = 16;

/** Encrypts text: AES-256-GCM with a random vector. `decrypt` needs the same `context`. */
export function encrypt(key: Buffer, text: string, context: string): Buffer {
  const vector = nodeCrypto().randomBytes(vectorBytes);
  const cipher = nodeCrypto().createCipheriv("aes-256-gcm", key, vector).setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([vector, cipher.getAuthTag(), body]);
}

/** Throws if the bytes were changed, or belong to another key or context. */
export function decrypt(key: Buffer, box: Buffer, context: string): string {
  const [vector, tag] = [box.subarray(0, vectorBytes), box.subarray(vectorBytes, vectorBytes + tagBytes)];
  const decipher = nodeCrypto().createDecipheriv("aes-256-gcm", key, vector, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(context)).setAuthTag(tag);
  const text = decipher.update(box.subarray(vectorBytes + tagBytes));
  return Buffer.concat([text, decipher.final()]).toString("utf8");
}
