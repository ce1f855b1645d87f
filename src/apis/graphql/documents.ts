import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from "graphql";
import { type Linked, RecencyList } from "../../internal/recency-list.js";
import { checkDocument, limitError } from "./check-document.js";
import { Complexity } from "./complexity.js";
import { CompiledOperation } from "./execute/compile.js";
import { GraphQLError, NoSchemaIntrospectionCustomRule, parse, specifiedRules, validate } from "./graphql-js.js";
import type { GraphqlLimits } from "./limits.js";

/** An operation of a valid document. */
export interface ReadyOperation {
  readonly document: DocumentNode;
  readonly compiled: CompiledOperation;
  readonly complexity: Complexity;
}

/** A document that was parsed and validated, with its operations by name. */
export class ReadyDocument {
  readonly #operations = new Map<string, ReadyOperation>();
  readonly #only: ReadyOperation | null;

  constructor(schema: GraphQLSchema, document: DocumentNode, listSize: number) {
    const definitions = document.definitions.filter(
      (definition): definition is OperationDefinitionNode => definition.kind === "OperationDefinition",
    );
    for (const definition of definitions) {
      this.#operations.set(definition.name?.value ?? "", {
        document,
        compiled: new CompiledOperation(schema, document, definition),
        complexity: new Complexity(schema, document, definition, listSize),
      });
    }
    this.#only = definitions.length === 1 ? [...this.#operations.values()][0]! : null;
  }

  /** The operation of this name, or the only one; else the error. */
  find(name: string | null | undefined): ReadyOperation | GraphQLError {
    if (name === null || name === undefined || name === "") {
      return this.#only ?? new GraphQLError("Must provide operation name if query contains multiple operations.");
    }
    return this.#operations.get(name) ?? new GraphQLError(`Unknown operation named "${name}".`);
  }
}

interface Entry extends Linked<Entry> {
  readonly text: string;
  readonly document: ReadyDocument;
  readonly cost: number;
}

/** Bytes that a document takes for each of its characters: mostly the nodes of its tree and their places in the text. */
const bytesPerCharacter = 150;

export interface DocumentSettings {
  readonly limits: Required<GraphqlLimits>;
  readonly introspection: boolean;
  readonly cacheSize: number;
}

/**
 * Parses, checks and validates documents, and keeps the valid ones that were used last, within a number of bytes. Nothing
 * is kept of a document that is not valid: each client can make any number of those.
 */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #settings: DocumentSettings;
  readonly #rules: readonly (typeof specifiedRules)[number][];
  readonly #entries = new Map<string, Entry>();
  readonly #recency = new RecencyList<Entry>();
  #cost = 0;

  constructor(schema: GraphQLSchema, settings: DocumentSettings) {
    this.#schema = schema;
    this.#settings = settings;
    this.#rules = settings.introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  }

  /** The number of documents that are kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** The document, or the reasons to refuse it. */
  prepare(text: string): ReadyDocument | readonly GraphQLError[] {
    const known = this.#entries.get(text);
    if (known !== undefined) {
      this.#recency.touch(known);
      return known.document;
    }
    const { limits, introspection } = this.#settings;
    if (limits.characters > 0 && text.length > limits.characters) {
      return [limitError(`The document is longer than ${limits.characters} characters.`, "characters")];
    }
    let parsed: DocumentNode;
    try {
      parsed = parse(text, limits.tokens > 0 ? { maxTokens: limits.tokens } : {});
      const exceeded = checkDocument(parsed, limits);
      if (exceeded !== null) return [exceeded];
      const errors = validate(this.#schema, parsed, this.#rules, { maxErrors: 20, hideSuggestions: !introspection });
      if (errors.length > 0) return errors;
    } catch (error) {
      return [syntaxError(error, limits.tokens)];
    }
    const document = new ReadyDocument(this.#schema, parsed, limits.listSize);
    this.#keep(text, document);
    return document;
  }

  #keep(text: string, document: ReadyDocument): void {
    const { cacheSize } = this.#settings;
    const cost = text.length * bytesPerCharacter + 2000;
    // One document must not displace most of the others.
    if (cost > cacheSize / 4) return;
    const entry: Entry = { text, document, cost, newer: null, older: null };
    this.#entries.set(text, entry);
    this.#recency.add(entry);
    this.#cost += cost;
    while (this.#cost > cacheSize) {
      const oldest = this.#recency.oldest!;
      this.#recency.remove(oldest);
      this.#entries.delete(oldest.text);
      this.#cost -= oldest.cost;
    }
  }
}

/** A document that is nested too deeply, where no limit refuses it, ends the parser or a rule with a RangeError. */
function syntaxError(error: unknown, maxTokens: number): GraphQLError {
  if (!(error instanceof GraphQLError)) return new GraphQLError("Syntax Error: The document cannot be parsed.");
  if (!error.message.endsWith("tokens. Parsing aborted.")) return error;
  return limitError(`The document has more than ${maxTokens} tokens.`, "tokens");
}
