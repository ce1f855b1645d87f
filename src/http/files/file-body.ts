import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { type Check, is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { isEntityTag } from "../fields/conditional.js";
import { contentDisposition } from "../fields/content-disposition.js";
import { type HeadersInit, isFieldValue } from "../fields/headers.js";
import { mediaType } from "../fields/media-types.js";

const isSendable: Check<string> = (value) => {
  if (typeof value !== "string" || value === "") return "a non-empty string";
  return isFieldValue(value) ? undefined : "a string that can be sent in a header";
};

const isTag: Check<string> = (value) =>
  typeof value === "string" && isEntityTag(value) ? undefined : `an entity tag in double quotes`;

const isDate: Check<Date> = (value) =>
  value instanceof Date && !Number.isNaN(value.getTime()) ? undefined : "a valid Date";

const isUrl: Check<URL> = (value) => (value instanceof URL ? undefined : "a file: URL");

const fileOptions = options("the options of a file", {
  /** The status of the response. Default 200. */
  status: option(is.integer(200, 599)),
  /** Header fields of the response. */
  headers: option<HeadersInit>(is.object),
  /** The media type. Default: by the extension. */
  contentType: option(isSendable),
  /** The content coding of a compressed file. The content type is that of the uncompressed file. */
  contentEncoding: option(is.oneOf("br", "gzip")),
  /** The name under which a browser saves the file. Default: the file's own. */
  filename: option(is.text),
  /** True makes browsers save the file instead of showing it; a string is also the file name. Default false. */
  download: option(is.either(is.boolean, is.text)),
  /** Time for which a client may reuse the file without a new request. */
  maxAge: option.duration(null),
  /** The whole Cache-Control field, in place of `maxAge`. */
  cacheControl: option(isSendable),
  /** The entity tag, quoted; false for none. Default: made of the size and the time of the last change. */
  etag: option(is.either(is.boolean, isTag)),
  /** The time of the last change; false for none. Default: the file's own. */
  lastModified: option(is.either(is.boolean, isDate)),
  /**
   * The directory that the path is relative to. The file must be inside it, also after `..` and symbolic links are
   * resolved. Set it whenever a part of the path comes from outside.
   */
  root: option(is.either(is.text, isUrl)),
  /** Allows or denies names that begin with a dot. Default: "deny" below a `root`, else "allow". */
  dotfiles: option(is.oneOf("allow", "deny")),
});

export interface FileOptions extends OptionsOf<typeof fileOptions.fields> {}

/** A file to be sent; opened when the response is. */
export class FileBody {
  readonly path: string;
  readonly root: string | undefined;
  readonly options: Partial<SettingsOf<typeof fileOptions.fields>>;

  constructor(path: string | URL, options?: FileOptions) {
    this.path = pathOf(path);
    this.options = fileOptions.readGiven([options]);
    this.root = this.options.root === undefined ? undefined : pathOf(this.options.root);
  }

  get contentType(): string {
    return this.options.contentType ?? mediaType(this.path);
  }

  get cacheControl(): string | undefined {
    const { cacheControl, maxAge } = this.options;
    return cacheControl ?? (maxAge === undefined ? undefined : `max-age=${Math.round(maxAge)}`);
  }

  get disposition(): string | undefined {
    const { download, filename } = this.options;
    const name = filename ?? (typeof download === "string" ? download : basename(this.path));
    if (download !== undefined && download !== false) return contentDisposition("attachment", name);
    return filename === undefined ? undefined : contentDisposition("inline", name);
  }
}

function pathOf(path: string | URL): string {
  if (typeof path === "string") return path;
  if (!(path instanceof URL) || path.protocol !== "file:") {
    throw new ValueError("the path of a file is a string or a file: URL");
  }
  return fileURLToPath(path);
}
