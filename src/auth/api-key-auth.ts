import { isHeaderName } from "../http/fields/headers.js";
import type { Request } from "../http/request.js";
import { type OptionsOf, option, options } from "../kit/config.js";
import { type Check, isPlainObject } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import { SchemeAuth, type SecurityScheme } from "./auth.js";
import { blinded } from "./same-text.js";
import { unauthorized } from "./unauthorized.js";

/** The names of the services or persons that hold keys, by key. */
export type ApiKeys = Readonly<Record<string, string>> | ReadonlyMap<string, string>;

const areKeys: Check<ApiKeys> = (value) =>
  isPlainObject(value) || value instanceof Map ? undefined : "a mapping of keys to the names of their holders";

const apiKeyOptions = options("ApiKeyAuth", {
  /** The accepted keys and the names of their holders. */
  keys: option.required(areKeys, readKeys),
  /** The header that holds the key. Default "X-API-Key". */
  header: option(isHeaderName, "X-API-Key"),
});

export interface ApiKeyAuthOptions extends OptionsOf<typeof apiKeyOptions.fields> {
  readonly keys: ApiKeys;
}

/**
 * Authenticates requests by an API key in a header. The name of its holder is put into `request.context.api_key_name`;
 * a missing or unknown key gets 401.
 */
export class ApiKeyAuth extends SchemeAuth {
  readonly name = "api-key-auth";
  readonly schemeName = "apiKeyAuth";
  readonly securityScheme: SecurityScheme;
  readonly #header: string;
  readonly #challenge: string;
  /** The names of the holders, by the digests of their keys. */
  readonly #names: ReadonlyMap<string, string>;

  constructor(keys: ApiKeys | ApiKeyAuthOptions, header?: string) {
    super();
    // A mapping of keys to names cannot be mistaken for options.
    const isOptions = header === undefined && isPlainObject(keys) && typeof keys["keys"] === "object";
    const settings = apiKeyOptions.read([isOptions ? keys : { keys, header }]);
    this.#names = settings.keys;
    this.#header = settings.header.toLowerCase();
    this.#challenge = `ApiKey header="${settings.header}"`;
    this.securityScheme = { type: "apiKey", in: "header", name: settings.header };
  }

  authenticate(request: Request): void {
    const key = request.source.header(this.#header);
    if (key === undefined) throw unauthorized("An API key is required.", this.#challenge);
    const name = this.#names.get(digestOf(key));
    if (name === undefined) throw unauthorized("The API key is not valid.", this.#challenge);
    request.personal = true;
    request.context.api_key_name = name;
  }
}

/**
 * The key of the lookup. A client does not know the secret of the digest and cannot choose digests with the same
 * beginning, so the time of the lookup reveals nothing about a key. The time does not grow with the number of keys.
 */
function digestOf(key: string): string {
  return blinded(key).toString("latin1");
}

/** The names by the digests of the keys. */
function readKeys(keys: ApiKeys): ReadonlyMap<string, string> {
  const entries: [string, string][] = keys instanceof Map ? [...keys] : Object.entries(keys);
  if (entries.length === 0) throw new ValueError("ApiKeyAuth needs at least one key");
  for (const [key, name] of entries) {
    // Neither the key nor a part of it stands in a message: messages end up in logs.
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new ValueError(`the API key of '${name}' is empty or holds a character other than visible ASCII`);
    }
    if (typeof name !== "string" || name === "") throw new ValueError("an API key must be mapped to a name");
  }
  return new Map(entries.map(([key, name]) => [digestOf(key), name]));
}
