import { nodeCrypto } from "../../kit/node-modules.js";

/** AES-256-GCM with a random vector; `decrypt` needs the same `context`. */
export function encrypt(key: Buffer, text: string | Buffer, context: string): string {
  const vector = nodeCrypto().randomBytes(12);
  const cipher = nodeCrypto().createCipheriv("aes-256-gcm", key, vector).setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(text as string, "utf8"), cipher.final()]);
  return Buffer.concat([vector, cipher.getAuthTag(), body]).toString("base64");
}

/** Throws if the text was changed or belongs to another key or context. */
export function decrypt(key: Buffer, box: string, context: string): string {
  const bytes = Buffer.from(box, "base64");
  const decipher = nodeCrypto()
    .createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12), { authTagLength: 16 })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(12, 28));
  return decipher.update(bytes.subarray(28), undefined, "utf8") + decipher.final("utf8");
}
