import { decrypt, encrypt } from "../../../kit/box.js";
import { nodeCrypto } from "../../../kit/node-modules.js";

export interface SubjectKey {
  readonly id: string;
  readonly key: Buffer;
}

/** A key as it is stored: wrapped with one of the master keys. */
export interface WrappedKey {
  readonly id: string;
  readonly subject: string;
  /** The name of the master key. */
  readonly master: string;
  readonly wrapped: string;
}

/** The keys that wrap those of persons: one for each secret of the config. The first wraps, all unwrap. */
export class MasterKeys {
  readonly #keys = new Map<string, Buffer>();
  /** The name of the first one. */
  readonly current: string;

  constructor(secrets: readonly string[]) {
    for (const secret of secrets) {
      const key = Buffer.from(nodeCrypto().hkdfSync("sha256", secret, "", "stoa personal data", 32));
      const name = nodeCrypto().createHash("sha256").update(key).digest("base64url").slice(0, 16);
      this.#keys.set(name, key);
    }
    this.current = [...this.#keys.keys()][0]!;
  }

  wrap({ id, key }: SubjectKey, subject: string): WrappedKey {
    const wrapped = encrypt(this.#keys.get(this.current)!, key.toString("base64"), `key ${id}`);
    return { id, subject, master: this.current, wrapped: wrapped.toString("base64") };
  }

  unwrap({ id, master, wrapped }: WrappedKey): Buffer {
    const key = this.#keys.get(master);
    if (key === undefined) {
      throw new Error(
        "a key of personal data was wrapped with a secret that is not in option 'personalKeys': add the earlier secret to the list",
      );
    }
    return Buffer.from(decrypt(key, Buffer.from(wrapped, "base64"), `key ${id}`), "base64");
  }
}
