import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { MessagingError } from "../../errors.js";

/** Compressions that Node may not know, by the names of the client library. */
export type LibraryCodec = "snappy" | "lz4" | "zstd";

/** Not a file: a bundle of the application would miss it. */
const program = `
const { parentPort, workerData } = require("node:worker_threads");
async function unpack({ codec, blocks, bound }) {
  if (codec === "zstd") return (await import(workerData.fzstd)).decompress(blocks[0], new Uint8Array(bound));
  const { compressionsAlgorithms } = await import(workerData.kafka);
  return Buffer.concat(blocks.map((block) => compressionsAlgorithms[codec].decompressSync(Buffer.from(block.buffer))));
}
parentPort.on("message", async (request) => {
  try {
    const data = new Uint8Array(await unpack(request));
    parentPort.postMessage({ id: request.id, data }, [data.buffer]);
  } catch (error) {
    parentPort.postMessage({ id: request.id, error: String(error?.message ?? error) });
  }
});
`;

interface Waiting {
  resolve(data: Uint8Array | null): void;
  reject(error: Error): void;
}

/** Unpacks large batches beside the event loop, one after the other. The thread begins with the first of them. */
export class UnpackThread {
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | null = null;
  #id = 0;

  /** Resolves to null if no thread can do it. `bound` is checked before: the functions know none. */
  unpack(codec: LibraryCodec, blocks: readonly Buffer[], bound: number): Promise<Uint8Array | null> {
    const thread = this.#opened();
    if (thread === null) return Promise.resolve(null);
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      // A view would be sent with all memory behind it.
      const copies = blocks.map((block) => new Uint8Array(block));
      thread.postMessage(
        { id, codec, blocks: copies, bound },
        copies.map(({ buffer }) => buffer),
      );
    });
  }

  close(): void {
    this.#thread?.terminate().catch(() => {});
    this.#ended();
  }

  #opened(): Worker | null {
    if (this.#thread !== null) return this.#thread;
    try {
      const { resolve } = createRequire(import.meta.url);
      const urlOf = (name: string) => pathToFileURL(resolve(name)).href;
      const thread = new Worker(program, {
        eval: true,
        name: "stoa unpack",
        // Neither the loaders nor the preloaded modules of the program.
        execArgv: [],
        workerData: { kafka: urlOf("@platformatic/kafka"), fzstd: optional(() => urlOf("fzstd")) },
      });
      thread.unref();
      thread.on("message", ({ id, data, error }: { id: number; data?: Uint8Array; error?: string }) => {
        const waiting = this.#waiting.get(id);
        this.#waiting.delete(id);
        if (data !== undefined) waiting?.resolve(data);
        else waiting?.reject(new MessagingError("REFUSED", `the bytes cannot be unpacked: ${error}`));
      });
      const ended = () => {
        // Another one may have begun since.
        if (this.#thread === thread) this.#ended();
      };
      thread.on("error", ended);
      thread.on("exit", ended);
      this.#thread = thread;
    } catch {
      // The library is part of a bundle; or Node's permission model, or a limit of the system.
      return null;
    }
    return this.#thread;
  }

  #ended(): void {
    this.#thread = null;
    for (const { resolve } of this.#waiting.values()) resolve(null);
    this.#waiting.clear();
  }
}

function optional(find: () => string): string | null {
  try {
    return find();
  } catch {
    return null;
  }
}
