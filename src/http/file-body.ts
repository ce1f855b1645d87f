import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { type Checks, is, readOptions } from "../internal/options.js";
import { ValueError } from "../internal/value-error.js";
import { isEntityTag } from "./conditional.js";
import { contentDisposition } from "./content-disposition.js";
import { checkHeader, type HeadersInit } from "./headers.js";
import { mediaType } from "./media-types.js";

export interface FileOptions {
  readonly status?: number;
  readonly headers?: HeadersInit;
  /** Default: by the extension. */
  readonly contentType?: string;
  /** The content coding of a compressed file. The content type is that of the uncompressed file. */
  readonly contentEncoding?: "br" | "gzip";
  /** The name under which a browser saves the file; default: the file's own. */
  readonly filename?: string;
  /** True makes browsers save the file instead of showing it; a string is also the file name. */
  readonly download?: boolean | string;
  /** Seconds for which a client may reuse the file without a new request. */
  readonly maxAge?: number;
  /** The whole Cache-Control field, in place of `maxAge`. */
  readonly cacheControl?: string;
  /** The entity tag, quoted; false for none. Default: made of the size and the time of the last change. */
  readonly etag?: boolean | string;
  /** The time of the last change; false for none. Default: the file's own. */
  readonly lastModified?: boolean | Date;
  /**
   * The directory that the path is relative to. The file must be inside it, also after `..` and symbolic links are
   * resolved. Set it whenever a part of the path comes from outside.
   */
  readonly root?: string | URL;
  /** Allows or denies names that begin with a dot. Default: "deny" below a `root`, else "allow". */
  readonly dotfiles?: "allow" | "deny";
}

/** A file to be sent; opened when the response is. */
export class FileBody {
  readonly path: string;
  readonly root: string | undefined;
  readonly options: FileOptions;

  constructor(path: string | URL, options?: FileOptions) {
    this.path = pathOf(path);
    this.options = readOptions<FileOptions>("the options of a file", options, checks);
    this.root = this.options.root === undefined ? undefined : pathOf(this.options.root);
  }

  get contentType(): string {
    return this.options.contentType ?? mediaType(this.path);
  }

  get cacheControl(): string | undefined {
    const { cacheControl, maxAge } = this.options;
    return cacheControl ?? (maxAge === undefined ? undefined : `max-age=${maxAge}`);
  }

  get disposition(): string | undefined {
    const { download, filename } = this.options;
    const name = filename ?? (typeof download === "string" ? download : basename(this.path));
    if (download !== undefined && download !== false) return contentDisposition("attachment", name);
    return filename === undefined ? undefined : contentDisposition("inline", name);
  }
}

const checks: Checks<FileOptions> = {
  status: is.integer(200, 599),
  headers: is.object,
  contentType: sendable,
  contentEncoding: is.oneOf("br", "gzip"),
  filename: is.text,
  download: is.either(is.boolean, is.text),
  maxAge: is.integer(0),
  cacheControl: sendable,
  etag: is.either(is.boolean, (value) =>
    typeof value === "string" && isEntityTag(value) ? undefined : `an entity tag in double quotes`,
  ),
  lastModified: is.either(is.boolean, (value) =>
    value instanceof Date && !Number.isNaN(value.getTime()) ? undefined : "a valid Date",
  ),
  root: is.either(is.text, (value) => (value instanceof URL ? undefined : "a file: URL")),
  dotfiles: is.oneOf("allow", "deny"),
};

function sendable(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return "a non-empty string";
  try {
    checkHeader("x", value);
    return undefined;
  } catch {
    return "a string that can be sent in a header";
  }
}

function pathOf(path: string | URL): string {
  if (typeof path === "string") return path;
  if (!(path instanceof URL) || path.protocol !== "file:") {
    throw new ValueError("the path of a file is a string or a file: URL");
  }
  return fileURLToPath(path);
}
