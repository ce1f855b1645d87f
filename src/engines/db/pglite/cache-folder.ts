import { lstat, mkdir } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of the user for files that can be made again; null if none can be trusted. */
export async function cacheFolder(): Promise<string | null> {
  for (const folder of candidates()) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // A folder of another user could hold a database with code of that user.
      if ((await lstat(folder)).uid === (process.getuid?.() ?? 0)) return folder;
    } catch {
      // The next may be writable.
    }
  }
  return null;
}

function candidates(): readonly string[] {
  const { STOA_CACHE_DIR, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (STOA_CACHE_DIR) return [STOA_CACHE_DIR];
  const temporary = join(tmpdir(), `stoa-cache-${process.getuid?.() ?? "user"}`);
  if (process.platform === "win32" && LOCALAPPDATA) return [join(LOCALAPPDATA, "stoa", "Cache"), temporary];
  if (process.platform === "darwin") return [join(homedir(), "Library", "Caches", "stoa"), temporary];
  return [join(XDG_CACHE_HOME || join(homedir(), ".cache"), "stoa"), temporary];
}
