export interface FileOptions {
  status?: number;
  headers?: Record<string, string>;
}
/** A file to be sent; opened when the response is. */
export class FileBody {
  readonly path: string;
  readonly options: FileOptions;
  constructor(path: string | URL, options: FileOptions = {}) {
    this.path = String(path);
    this.options = options;
  }
}
