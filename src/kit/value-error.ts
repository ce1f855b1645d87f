/** A value that a caller gave and that cannot be used: an unknown option, a wrong type, an impossible setting. */
export class ValueError extends Error {
  override name = "ValueError";
}
