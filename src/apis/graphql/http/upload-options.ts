import { type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import { is } from "../../../kit/options.js";

const uploadOptions = options("option 'uploads' of GraphQLConfig", {
  /** Files of a request. Default 10. */
  maxFiles: option(is.integer(1, 1000), 10),
  /** Bytes of one file. Default: only the whole request is bounded. */
  maxFileSize: option(is.integer(0)),
  /** Bytes of a request to the endpoint. Default: the body limit of the application. */
  bodyLimit: option(is.integer(0)),
});

export interface UploadOptions extends OptionsOf<typeof uploadOptions.fields> {}
export type UploadSettings = SettingsOf<typeof uploadOptions.fields>;

/** Null where uploads are not accepted. */
export function readUploads(given: boolean | UploadOptions): UploadSettings | null {
  return given === false ? null : uploadOptions.read(given === true ? [] : [given]);
}
