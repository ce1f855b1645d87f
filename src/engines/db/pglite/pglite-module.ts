import { missingPackage } from "../../../kit/optional-package.js";
import type { ServerError } from "../translate-error.js";

/** The part of PGlite that is used. It is published; it is described here so that our types do not need the package. */
export interface PgliteModule {
  readonly PGlite: { create(options: PgliteOptions): Promise<Pglite> };
  readonly protocol: { readonly serialize: Serialize };
}

export interface PgliteOptions {
  readonly dataDir?: string;
  readonly loadDataDir?: Blob;
  readonly relaxedDurability?: boolean;
}

export interface Pglite {
  execProtocolStream(message: Uint8Array, options: { throwOnError: boolean }): Promise<BackendMessage[]>;
  onNotification(callback: (channel: string, payload: string) => void): () => void;
  dumpDataDir(compression: "none"): Promise<Blob>;
  close(): Promise<void>;
  /** Of a database that other processes use too: keeps their statements out, or lets them in again. */
  alone?(alone: boolean): Promise<unknown>;
}

export interface Serialize {
  query(text: string): Uint8Array;
  parse(message: { text: string; name?: string }): Uint8Array;
  describe(message: { type: "S" | "P"; name?: string }): Uint8Array;
  bind(message: { values: (string | Uint8Array | null)[] }): Uint8Array;
  execute(message: object): Uint8Array;
  sync(): Uint8Array;
}

/** The messages that matter, identified by their names. */
export type BackendMessage =
  | { readonly name: "parameterDescription"; readonly dataTypeIDs: number[] }
  | { readonly name: "rowDescription"; readonly fields: { name: string; dataTypeID: number }[] }
  | { readonly name: "dataRow"; readonly fields: (string | null)[] }
  | { readonly name: "commandComplete"; readonly text: string }
  | { readonly name: "readyForQuery"; readonly status: string }
  | ({ readonly name: "error" } & ServerError)
  | { readonly name: "other" };

const name = "@electric-sql/pglite";

export async function loadPglite(): Promise<PgliteModule> {
  const module = await import("@electric-sql/pglite").catch((cause: unknown) => {
    throw missingPackage(name, "an embedded database", cause);
  });
  return module as unknown as PgliteModule;
}
