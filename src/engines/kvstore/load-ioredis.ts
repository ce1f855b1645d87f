import { missingPackage } from "../db/missing-package.js";

export type Ioredis = Pick<typeof import("ioredis"), "Redis" | "Cluster">;

/** Loads the client library, which applications without a key-value store do not need. */
export async function loadIoredis(load: () => Promise<Ioredis> = () => import("ioredis")): Promise<Ioredis> {
  try {
    return await load();
  } catch (error) {
    throw missingPackage("ioredis", "enableKvstore", error);
  }
}
