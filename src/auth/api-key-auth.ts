import { isToken } from "../http/headers.js";
import type { Request } from "../http/request.js";
import { nodeCrypto } from "../internal/node-modules.js";
import { isPlainObject, readOptions, required } from "../internal/options.js";
import { ValueError } from "../internal/value-error.js";
import { SchemeAuth, type SecurityScheme } from "./auth.js";
import { blinded } from "./same-text.js";
import { unauthorized } from "./unauthorized.js";

/** The name of the service or person that holds a key, by the key. */
export type ApiKeys = Readonly<Record<string, string>> | ReadonlyMap<string, string>;

export interface ApiKeyAuthOptions {
  readonly keys: ApiKeys;
  /** Default "X-API-Key". */
  readonly header?: string;
}

/** A key in a header of its own. */
export class ApiKeyAuth extends SchemeAuth {
  readonly name = "api-key-auth";
  readonly schemeName = "apiKeyAuth";
  readonly securityScheme: SecurityScheme;
  readonly #header: string;
  readonly #challenge: string;
  readonly #digests: readonly Buffer[];
  readonly #names: readonly string[];

  constructor(keys: ApiKeys | ApiKeyAuthOptions, header?: string) {
    super();
    const options = readArguments(keys, header);
    const given = options.header ?? "X-API-Key";
    const entries = readKeys(options.keys);
    this.#digests = entries.map(([key]) => blinded(key));
    this.#names = entries.map(([, name]) => name);
    this.#header = given.toLowerCase();
    this.#challenge = `ApiKey header="${given}"`;
    this.securityScheme = { type: "apiKey", in: "header", name: given };
  }

  authenticate(request: Request): void {
    const key = request.source.header(this.#header);
    if (key === undefined) throw unauthorized("An API key is required.", this.#challenge);
    const name = this.#find(blinded(key));
    if (name === undefined) throw unauthorized("The API key is not valid.", this.#challenge);
    request.personal = true;
    request.context.api_key_name = name;
  }

  /** Looks at every key, so that the time does not tell which one was found, or almost. */
  #find(given: Buffer): string | undefined {
    let found = -1;
    for (let i = 0; i < this.#digests.length; i++) {
      const same = nodeCrypto().timingSafeEqual(this.#digests[i]!, given);
      found = same ? i : found;
    }
    return this.#names[found];
  }
}

/** The mapping of keys, then the header; or both as options, which a mapping to names cannot be mistaken for. */
function readArguments(first: unknown, header: unknown): ApiKeyAuthOptions {
  const isOptions = header === undefined && isPlainObject(first) && typeof first["keys"] === "object";
  const options = isOptions ? first : { keys: first, header };
  const read = readOptions<ApiKeyAuthOptions>("ApiKeyAuth", options, checks);
  return { keys: required("ApiKeyAuth", read, "keys"), header: read.header ?? "X-API-Key" };
}

const checks = {
  keys: (value: unknown) =>
    isPlainObject(value) || value instanceof Map ? undefined : "a mapping of keys to the names of their holders",
  header: (value: unknown) => (typeof value === "string" && isToken(value) ? undefined : "the name of a header"),
};

function readKeys(keys: ApiKeys): [key: string, name: string][] {
  const entries: [string, string][] = keys instanceof Map ? [...keys] : Object.entries(keys);
  if (entries.length === 0) throw new ValueError("ApiKeyAuth needs at least one key");
  for (const [key, name] of entries) {
    // Neither the key nor a part of it stands in a message: messages end up in logs.
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new ValueError(`the API key of '${name}' is empty or holds a character other than visible ASCII`);
    }
    if (typeof name !== "string" || name === "") throw new ValueError("an API key must be mapped to a name");
  }
  return entries;
}
