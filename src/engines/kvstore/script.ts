import { nodeCrypto } from "../../kit/node-modules.js";
import type { CommandRunner } from "./commands/runner.js";
import { encodeValue, type KvValue, keyOf } from "./commands/values.js";
import { KvStoreError } from "./errors.js";

/** A Lua script that is sent by its hash; its text is sent only to a server that does not know it. */
export class KvScript<T = unknown> {
  readonly #runner: CommandRunner;
  readonly #lua: string;
  readonly #sha: string;
  readonly #bytes: boolean;

  constructor(runner: CommandRunner, lua: string, bytes = false) {
    this.#runner = runner;
    this.#lua = lua;
    this.#sha = nodeCrypto().createHash("sha1").update(lua).digest("hex");
    this.#bytes = bytes;
  }

  /** Runs it. Keys get the prefix of the store; in a cluster all must be of one slot. */
  async run(keys: readonly string[] = [], args: readonly KvValue[] = []): Promise<T> {
    const rest = [keys.length, ...keys.map((key) => keyOf(this.#runner.prefix, key)), ...args.map(encodeValue)];
    const how = { bytes: this.#bytes };
    const read = (reply: unknown): T => reply as T;
    try {
      return await this.#runner.run("evalsha", [this.#sha, ...rest], read, how);
    } catch (error) {
      // A server that was started again, or has become master, does not know it.
      if (!(error instanceof KvStoreError && error.reply === "NOSCRIPT")) throw error;
      return this.#runner.run("eval", [this.#lua, ...rest], read, how);
    }
  }
}
