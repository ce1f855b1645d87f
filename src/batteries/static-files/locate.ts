/** The file that a request's path names. */
export interface Location {
  /** Below the directory, separated by "/". */
  readonly path: string;
  /** True if the path ends in a slash, which means a directory. */
  readonly isDirectory: boolean;
}

/**
 * Splits the path of a request, as received, without its first `depth` segments. Null for a path that cannot be a
 * file's. Each segment is decoded by itself, so that nothing in it can be a separator, lead upwards, or be hidden.
 */
export function locate(path: string, depth: number, dotfiles: "allow" | "deny"): Location | null {
  const segments = path.split("/").slice(depth + 1);
  const last = segments.length - 1;
  for (let i = 0; i <= last; i++) {
    const segment = decode(segments[i]!);
    if (segment === null || (segment === "" && i < last) || !isName(segment, dotfiles)) return null;
    segments[i] = segment;
  }
  const isDirectory = last >= 0 && segments[last] === "";
  if (isDirectory) segments.pop();
  return { path: segments.join("/"), isDirectory };
}

// A colon leads to another drive or stream on Windows, and a dot or a space at the end of a name is dropped there.
const forbidden = process.platform === "win32" ? /[/\\\0:]|[. ]$/ : /[/\\\0]/;

function isName(segment: string, dotfiles: "allow" | "deny"): boolean {
  if (forbidden.test(segment) || segment === "." || segment === "..") return false;
  return dotfiles === "allow" || !segment.startsWith(".");
}

function decode(segment: string): string | null {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
