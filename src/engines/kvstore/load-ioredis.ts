import { loadPackage, notInstalled } from "../../kit/optional-package.js";

/**
 * The part of ioredis that is used. Its own types are not named: the declarations of Stoa must compile where it is not
 * installed.
 */
export interface Ioredis {
  readonly Redis: new (options: object) => object;
  readonly Cluster: new (nodes: { host: string; port: number }[], options: object) => object;
  readonly Command: new (name: string, args: (string | number | Buffer)[]) => { getSlot(): number | null };
}

/** Loads the client library, which applications without a key-value store do not need. */
export function loadIoredis(load: () => Promise<Ioredis> = importIoredis): Promise<Ioredis> {
  return loadPackage(load, "ioredis", "enableKvstore", "@6");
}

async function importIoredis(): Promise<Ioredis> {
  const { Redis, Cluster, Command } = await import("ioredis").catch(notInstalled);
  return { Redis, Cluster, Command };
}
