/** The content type that a file name's extension stands for; application/octet-stream for an unknown one. */
export function mediaType(path: string): string {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  const dot = name.lastIndexOf(".");
  // ".gitignore" is a name, not an extension.
  if (dot <= 0) return unknownType;
  byExtension ??= typesByExtension();
  return byExtension.get(name.slice(dot + 1).toLowerCase()) ?? unknownType;
}

const unknownType = "application/octet-stream";

/** Types and their extensions. Text is sent as UTF-8. */
const table: Readonly<Record<string, string>> = {
  "application/atom+xml": "atom",
  "application/epub+zip": "epub",
  "application/geo+json": "geojson",
  "application/gzip": "gz",
  "application/java-archive": "jar war",
  "application/json": "json map",
  "application/ld+json": "jsonld",
  "application/manifest+json": "webmanifest",
  "application/msword": "doc dot",
  "application/pdf": "pdf",
  "application/pkcs8": "p8",
  "application/postscript": "ps eps ai",
  "application/rss+xml": "rss",
  "application/rtf": "rtf",
  "application/schema+json": "jsonschema",
  "application/sql": "sql",
  "application/toml": "toml",
  "application/vnd.android.package-archive": "apk",
  "application/vnd.apple.mpegurl": "m3u8",
  "application/vnd.google-earth.kml+xml": "kml",
  "application/vnd.ms-excel": "xls xlt",
  "application/vnd.ms-fontobject": "eot",
  "application/vnd.ms-powerpoint": "ppt pps",
  "application/vnd.oasis.opendocument.presentation": "odp",
  "application/vnd.oasis.opendocument.spreadsheet": "ods",
  "application/vnd.oasis.opendocument.text": "odt",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.rar": "rar",
  "application/vnd.sqlite3": "sqlite sqlite3 db",
  "application/wasm": "wasm",
  "application/x-7z-compressed": "7z",
  "application/x-bzip2": "bz2",
  "application/x-ndjson": "ndjson jsonl",
  "application/x-pem-file": "pem crt key",
  "application/x-sh": "sh",
  "application/x-tar": "tar",
  "application/x-xz": "xz",
  "application/xhtml+xml": "xhtml",
  "application/xml": "xml xsl xsd",
  "application/yaml": "yaml yml",
  "application/zip": "zip",
  "application/zstd": "zst",
  "audio/aac": "aac",
  "audio/flac": "flac",
  "audio/midi": "mid midi",
  "audio/mp4": "m4a",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg oga opus",
  "audio/wav": "wav",
  "audio/webm": "weba",
  "font/collection": "ttc",
  "font/otf": "otf",
  "font/ttf": "ttf",
  "font/woff": "woff",
  "font/woff2": "woff2",
  "image/apng": "apng",
  "image/avif": "avif",
  "image/bmp": "bmp",
  "image/gif": "gif",
  "image/heic": "heic",
  "image/heif": "heif",
  "image/jpeg": "jpg jpeg jpe",
  "image/jxl": "jxl",
  "image/png": "png",
  "image/svg+xml": "svg",
  "image/tiff": "tif tiff",
  "image/vnd.adobe.photoshop": "psd",
  "image/webp": "webp",
  "image/x-icon": "ico cur",
  "message/rfc822": "eml mht",
  "model/gltf+json": "gltf",
  "model/gltf-binary": "glb",
  "model/obj": "obj",
  "model/stl": "stl",
  "text/cache-manifest": "appcache",
  "text/calendar": "ics",
  "text/css": "css",
  "text/csv": "csv",
  "text/html": "html htm",
  "text/javascript": "js mjs cjs",
  "text/markdown": "md markdown",
  "text/plain": "txt text log conf ini",
  "text/tab-separated-values": "tsv",
  "text/vcard": "vcf",
  "text/vtt": "vtt",
  "text/x-python": "py",
  "video/mp2t": "ts m2ts",
  "video/mp4": "mp4 m4v",
  "video/mpeg": "mpeg mpg",
  "video/ogg": "ogv",
  "video/quicktime": "mov qt",
  "video/webm": "webm",
  "video/x-matroska": "mkv",
  "video/x-msvideo": "avi",
};

let byExtension: Map<string, string> | null = null;

function typesByExtension(): Map<string, string> {
  const types = new Map<string, string>();
  for (const [type, extensions] of Object.entries(table)) {
    const sent = type.startsWith("text/") ? `${type}; charset=utf-8` : type;
    for (const extension of extensions.split(" ")) types.set(extension, sent);
  }
  return types;
}
