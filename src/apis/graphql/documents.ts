import type { DocumentNode, GraphQLSchema, OperationDefinitionNode, OperationTypeNode, ValidationRule } from "graphql";
import { type Linked, RecencyList } from "../../kit/recency-list.js";
import { checkDocument, limitError } from "./check-document.js";
import { Complexity } from "./complexity.js";
import { CompiledOperation } from "./execute/compile.js";
import { DocumentPlan } from "./execute/document-plan.js";
import { IncrementalRule } from "./execute/incremental-directives.js";
import type { HookedResolvers } from "./execute/plan.js";
import { GraphQLError, NoSchemaIntrospectionCustomRule, parse, specifiedRules, validate } from "./graphql-js.js";
import type { GraphqlHooks } from "./hooks.js";
import { operationError } from "./internal-errors.js";
import type { GraphqlLimits } from "./limits.js";
import { hookedParse, hookedResolvers, hookedValidate } from "./run-hooks.js";

/** An operation of a valid document. */
export interface ReadyOperation {
  readonly type: OperationTypeNode;
  /** The name that the document gives it. */
  readonly name: string | null;
  /** The fields of log lines about it. */
  readonly logFields: Readonly<Record<string, string>>;
  readonly document: DocumentNode;
  readonly compiled: CompiledOperation;
  readonly complexity: Complexity;
}

/** Characters of the name of an operation in logs and traces: clients choose it. */
const maxName = 100;

/** A document that was parsed and validated, with its operations by name. */
export class ReadyDocument {
  readonly #operations = new Map<string, ReadyOperation>();
  readonly #only: ReadyOperation | null;

  /** `grow` is called with the number of bytes that the plans of its operations take more. */
  constructor(
    schema: GraphQLSchema,
    document: DocumentNode,
    listSize: number,
    grow: (bytes: number) => void,
    hooked: HookedResolvers | null,
  ) {
    const plan = new DocumentPlan(schema, document, grow, hooked);
    const definitions = document.definitions.filter(
      (definition): definition is OperationDefinitionNode => definition.kind === "OperationDefinition",
    );
    for (const definition of definitions) {
      const type = definition.operation;
      const name = definition.name?.value.slice(0, maxName) ?? null;
      this.#operations.set(definition.name?.value ?? "", {
        type,
        name,
        logFields: { graphql_type: type, ...(name !== null && { graphql_operation: name }) },
        document,
        compiled: new CompiledOperation(plan, definition),
        complexity: new Complexity(schema, plan.fragments, definition, listSize),
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
  /** Bytes of the document, and of the plans that its executions have made. */
  cost: number;
}

/** Bytes that a document takes for each of its characters: mostly the nodes of its tree and their places in the text. */
const bytesPerCharacter = 200;

export interface DocumentSettings {
  readonly limits: Required<GraphqlLimits>;
  readonly introspection: boolean;
  readonly cacheSize: number;
  readonly hooks?: readonly GraphqlHooks[];
  /** Lets operations use `@defer` and `@stream`. */
  readonly incremental?: boolean;
}

/**
 * Parses, checks and validates documents, and keeps the valid ones that were used last, within a number of bytes. Nothing
 * is kept of a document that is not valid: each client can make any number of those.
 */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #settings: DocumentSettings;
  readonly #rules: readonly ValidationRule[];
  readonly #parse: (text: string) => DocumentNode;
  readonly #validate: (document: DocumentNode, rules: readonly ValidationRule[]) => readonly GraphQLError[];
  readonly #hooked: HookedResolvers | null;
  readonly #entries = new Map<string, Entry>();
  readonly #recency = new RecencyList<Entry>();
  #cost = 0;

  constructor(schema: GraphQLSchema, settings: DocumentSettings) {
    this.#schema = schema;
    this.#settings = settings;
    this.#rules = [
      ...specifiedRules,
      ...(settings.introspection ? [] : [NoSchemaIntrospectionCustomRule]),
      ...(settings.incremental ? [IncrementalRule] : []),
    ];
    const { hooks = [], limits, introspection } = settings;
    const validation = { maxErrors: 20, hideSuggestions: !introspection };
    this.#parse = hookedParse(hooks, (text) =>
      this.#step(() => parse(text, limits.tokens > 0 ? { maxTokens: limits.tokens } : {})),
    );
    this.#validate = hookedValidate(hooks, (document, rules) =>
      this.#step(() => validate(schema, document, rules, validation)),
    );
    this.#hooked = hookedResolvers(hooks, schema);
  }

  /** The number of documents that are kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** The bytes that they are counted for. */
  get bytes(): number {
    return this.#cost;
  }

  /** The document, or the reasons to refuse it. */
  prepare(text: string): ReadyDocument | readonly GraphQLError[] {
    const known = this.#entries.get(text);
    if (known !== undefined) {
      this.#recency.touch(known);
      return known.document;
    }
    const { limits } = this.#settings;
    if (limits.characters > 0 && text.length > limits.characters) {
      return [limitError(`The document is longer than ${limits.characters} characters.`, "characters")];
    }
    let parsed: DocumentNode;
    try {
      parsed = this.#parse(text);
      const exceeded = this.#step(() => checkDocument(parsed, limits));
      if (exceeded !== null) return [exceeded];
      const errors = this.#validate(parsed, this.#rules);
      if (errors.length > 0) return errors;
    } catch (error) {
      return [operationError(error)];
    }
    const grow = (bytes: number): void => this.#grow(entry, bytes);
    const document = new ReadyDocument(this.#schema, parsed, limits.listSize, grow, this.#hooked);
    const entry: Entry = { text, document, cost: 0, newer: null, older: null };
    this.#entries.set(text, entry);
    this.#recency.add(entry);
    this.#grow(entry, text.length * bytesPerCharacter + 2000);
    return document;
  }

  /** A step that is no hook: all of its errors are those of the document. */
  #step<T>(step: () => T): T {
    try {
      return step();
    } catch (error) {
      throw syntaxError(error, this.#settings.limits.tokens);
    }
  }

  /** Counts bytes of a document, and drops what the cache has no more room for. */
  #grow(entry: Entry, bytes: number): void {
    if (this.#entries.get(entry.text) !== entry) return;
    const { cacheSize } = this.#settings;
    entry.cost += bytes;
    this.#cost += bytes;
    // One document must not displace most of the others.
    if (entry.cost > cacheSize / 4) this.#drop(entry);
    while (this.#cost > cacheSize) this.#drop(this.#recency.oldest!);
  }

  #drop(entry: Entry): void {
    this.#recency.remove(entry);
    this.#entries.delete(entry.text);
    this.#cost -= entry.cost;
  }
}

/** A document that is nested too deeply, where no limit refuses it, ends the parser or a rule with a RangeError. */
function syntaxError(error: unknown, maxTokens: number): GraphQLError {
  if (!(error instanceof GraphQLError)) return new GraphQLError("Syntax Error: The document cannot be parsed.");
  if (!error.message.endsWith("tokens. Parsing aborted.")) return error;
  return limitError(`The document has more than ${maxTokens} tokens.`, "tokens");
}
