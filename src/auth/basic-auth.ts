import { isUtf8 } from "node:buffer";
import type { Request } from "../http/request.js";
import { type OptionsOf, option, options } from "../kit/config.js";
import { asPromise, isPromise } from "../kit/is-promise.js";
import type { EitherSpelling } from "../kit/names.js";
import { type Check, is } from "../kit/options.js";
import { SchemeAuth, type SecurityScheme } from "./auth.js";
import { unauthorized } from "./unauthorized.js";
import { Verifications } from "./verifications.js";

/** Checks a name and a password. Only `true` accepts the request. */
export type VerifyFunction = (username: string, password: string) => boolean | Promise<boolean>;

const isRealm: Check<string> = (value) =>
  typeof value === "string" && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(value)
    ? undefined
    : "printable ASCII without quotes and backslashes";

const basicAuthOptions = options(
  "BasicAuth",
  {
    /** Checks a name and a password; it may return a promise. */
    verifyFunction: option.required<VerifyFunction>(is.function),
    /** The realm, which browsers show when they ask for the password. Default "restricted". */
    realm: option(isRealm, "restricted"),
    /** Verifications that run at once; others wait, and beyond 50 times as many requests get 503. Default 16. */
    maxVerifications: option(is.integer(1), 16),
  },
  { order: ["verifyFunction", "realm"] },
);

export interface BasicAuthOptions extends OptionsOf<typeof basicAuthOptions.fields> {}

/** The largest number of characters in credentials; no real password is longer. */
const maxLength = 4096;
const control = /[\x00-\x1f\x7f]/;

/** Name and password in `Authorization: Basic` (RFC 7617). Use it over HTTPS only: they are not encrypted. */
export class BasicAuth extends SchemeAuth {
  readonly name = "basic-auth";
  readonly schemeName = "basicAuth";
  readonly securityScheme: SecurityScheme = { type: "http", scheme: "basic" };
  readonly #verify: VerifyFunction;
  readonly #challenge: string;
  readonly #verifications: Verifications;

  constructor(verify: VerifyFunction | EitherSpelling<BasicAuthOptions>, realm?: string) {
    super();
    const settings = basicAuthOptions.read(realm === undefined ? [verify] : [verify, realm]);
    this.#verify = settings.verifyFunction;
    this.#verifications = new Verifications(settings.maxVerifications);
    this.#challenge = `Basic realm="${settings.realm}", charset="UTF-8"`;
  }

  authenticate(request: Request): void | Promise<void> {
    const header = request.source.header("authorization");
    if (header === undefined) throw unauthorized("A user name and a password are required.", this.#challenge);
    const credentials = readCredentials(header);
    if (credentials === null) throw this.#refusal();
    request.personal = true;
    const { username, password } = credentials;
    const verdict: unknown = this.#verifications.run<unknown>(request, () => this.#verify(username, password));
    if (!isPromise(verdict)) return this.#settle(request, username, verdict);
    return asPromise(verdict).then((value) => this.#settle(request, username, value));
  }

  #settle(request: Request, username: string, verdict: unknown): void {
    if (verdict !== true) throw this.#refusal();
    request.context.user = username;
  }

  /** The same response for an unknown user, a wrong password and malformed credentials. */
  #refusal(): Error {
    return unauthorized("The user name or the password is not valid.", this.#challenge);
  }
}

function readCredentials(header: string): { username: string; password: string } | null {
  const match = /^basic +([^ ]+)$/i.exec(header);
  if (!match || match[1]!.length > maxLength) return null;
  const encoded = match[1]!;
  const bytes = Buffer.from(encoded, "base64");
  // Node skips invalid base64: only the canonical encoding is accepted.
  if (bytes.toString("base64") !== encoded || !isUtf8(bytes)) return null;
  const text = bytes.toString("utf8");
  const colon = text.indexOf(":");
  if (colon === -1 || control.test(text)) return null;
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
