/** Types whose bytes are already compressed: compressing them again gains nothing. */
const compressed = new Set([
  "application/epub+zip",
  "application/gzip",
  "application/java-archive",
  "application/pdf",
  "application/vnd.android.package-archive",
  "application/vnd.rar",
  "application/x-7z-compressed",
  "application/x-brotli",
  "application/x-bzip2",
  "application/x-gzip",
  "application/x-rar-compressed",
  "application/x-xz",
  "application/x-zip-compressed",
  "application/zip",
  "application/zstd",
  "font/woff",
  "font/woff2",
  // Each open stream would hold a compressor of 256 KiB, and proxies in between would hold events back.
  "text/event-stream",
]);

/** Images that are not compressed: bitmaps and drawings in text. */
const plainImages = new Set(["image/bmp", "image/svg+xml", "image/vnd.adobe.photoshop", "image/x-icon"]);

/** True if a body of this Content-Type is worth compressing. */
export function isCompressible(contentType: string | null): boolean {
  if (contentType === null) return true;
  const known = answers.get(contentType);
  if (known !== undefined) return known;
  const answer = decide(contentType);
  // A type can be made up per response (a boundary in it), so the map is bounded, and so are its keys.
  if (answers.size < 200 && contentType.length < 100) answers.set(contentType, answer);
  return answer;
}

const answers = new Map<string, boolean>();

function decide(contentType: string): boolean {
  const semicolon = contentType.indexOf(";");
  const type = (semicolon === -1 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
  if (type.startsWith("image/")) return plainImages.has(type);
  if (type.startsWith("video/") || type.startsWith("audio/")) return false;
  // Office documents of both families are archives.
  if (type.startsWith("application/vnd.openxmlformats-") || type.startsWith("application/vnd.oasis.")) return false;
  return !compressed.has(type);
}
