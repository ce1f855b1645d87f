import { nodeCrypto } from "../../kit/node-modules.js";
import { isPlainObject } from "../../kit/options.js";
import { type Linked, RecencyList } from "../../kit/recency-list.js";
import { GraphQLError } from "./graphql-js.js";
import { malformed, type OperationParameters, Refusal } from "./parameters.js";
import type { PersistedSettings } from "./persisted-options.js";

/** Characters of the documents that clients have registered. */
const maxRegistered = 4_000_000;

interface Registered extends Linked<Registered> {
  readonly hash: string;
  readonly text: string;
}

/** Finds the text of an operation: in the request itself, or by its id or hash. */
export class Persisted {
  readonly #registered = new Map<string, Registered>();
  readonly #recency = new RecencyList<Registered>();
  #characters = 0;

  constructor(
    private readonly settings: PersistedSettings,
    private readonly maxLength: number,
  ) {}

  textOf(parameters: OperationParameters): string | Refusal | Promise<string | Refusal> {
    const { query, documentId } = parameters;
    const hash = parameters.extensions === null ? null : hashOf(parameters.extensions);
    const id = documentId ?? hash;
    if (id === null) {
      if (query === null) return malformed("The request has no 'query'.");
      return this.settings.only ? refusal("Only persisted operations are accepted.", "PERSISTED_QUERY_ONLY") : query;
    }
    if (query !== null) return this.#register(query, hash);
    const known = this.#registered.get(id);
    if (known) {
      this.#recency.touch(known);
      return known.text;
    }
    const found = this.settings.find?.(id);
    if (typeof found === "string") return found;
    return found ? found.then((text) => text ?? notFound()) : notFound();
  }

  /** A document with its hash: it is kept if clients may register documents, and sent by its hash the next time. */
  #register(query: string, hash: string | null): string | Refusal {
    if (this.settings.only) return refusal("Only persisted operations are accepted.", "PERSISTED_QUERY_ONLY");
    if (hash === null || !this.settings.automatic) return query;
    if (this.maxLength > 0 && query.length > this.maxLength) return query;
    if (nodeCrypto().createHash("sha256").update(query).digest("hex") !== hash.toLowerCase()) {
      return malformed("'sha256Hash' is not the hash of 'query'.");
    }
    if (!this.#registered.has(hash)) {
      const entry: Registered = { hash, text: query, newer: null, older: null };
      this.#registered.set(hash, entry);
      this.#recency.add(entry);
      this.#characters += query.length + hash.length;
    }
    while (this.#characters > maxRegistered) {
      const oldest = this.#recency.oldest!;
      this.#recency.remove(oldest);
      this.#registered.delete(oldest.hash);
      this.#characters -= oldest.text.length + oldest.hash.length;
    }
    return query;
  }
}

/** The hash as the clients of automatic persisted queries send it. */
function hashOf(extensions: Readonly<Record<string, unknown>>): string | null {
  const { persistedQuery } = extensions;
  const hash = isPlainObject(persistedQuery) ? persistedQuery["sha256Hash"] : null;
  return typeof hash === "string" && hash.length <= 200 ? hash : null;
}

function notFound(): Refusal {
  return refusal("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND");
}

function refusal(message: string, code: string): Refusal {
  return new Refusal([new GraphQLError(message, { extensions: { code } })]);
}
