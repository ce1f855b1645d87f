import type {
  FieldNode,
  FragmentDefinitionNode,
  GraphQLError,
  GraphQLField,
  GraphQLFieldResolver,
  GraphQLObjectType,
  GraphQLResolveInfo,
  GraphQLSchema,
  OperationDefinitionNode,
} from "graphql";
import type { Path } from "./path.js";
import type { Scalar } from "./scalar-text.js";

let runs = 0;

/** The state of one execution. */
export class Run {
  readonly id: number = ++runs;
  errors: GraphQLError[] | null = null;
  /** Promises of resolvers that are not settled yet. */
  #waiting = 0;
  #onIdle: (() => void) | null = null;
  /** Receivers of texts that are being called, each by the one before it. */
  nesting = 0;
  #nulled: Set<Path | undefined> | null = null;
  /** Fields that are not the same for all executions. */
  #fields: Map<Selection, Map<GraphQLObjectType, readonly FieldPlan[]>> | null = null;
  /** The same with deferred fields apart. */
  splits: Map<Selection, Map<GraphQLObjectType, SplitFields>> | null = null;
  /** The arguments of fields that are the same for the whole run, by slot; null for those that are not. */
  readonly arguments: (Record<string, unknown> | null)[] = [];

  constructor(
    readonly schema: GraphQLSchema,
    readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>,
    readonly operation: OperationDefinitionNode,
    readonly variables: Record<string, unknown>,
    readonly rootValue: unknown,
    readonly context: unknown,
    /** Parts for later; null if the client takes one result. */
    readonly parts: Parts | null = null,
  ) {}

  /** The state of the execution of a part that this one has left. */
  child(): Run {
    const { schema, fragments, operation, variables, rootValue, context, parts } = this;
    return new Run(schema, fragments, operation, variables, rootValue, context, parts?.next() ?? null);
  }

  /** The parts that are left, when the result is complete. */
  closeParts(): readonly Part[] {
    const nulled = this.#nulled;
    return this.parts?.close((path) => nulled !== null && isInside(path, nulled)) ?? [];
  }

  /** A promise of a resolver is awaited. */
  begin(): void {
    this.#waiting++;
  }

  end(): void {
    if (--this.#waiting === 0) this.#onIdle?.();
  }

  /** Resolves when all promises of resolvers are settled; null if they are. An error can end an execution before. */
  untilIdle(): Promise<void> | null {
    return this.#waiting === 0 ? null : new Promise((resolve) => (this.#onIdle = resolve));
  }

  /** Keeps an error, unless a null of another error has already taken its place or that of an ancestor. */
  add(error: GraphQLError, path: Path | undefined): void {
    const nulled = (this.#nulled ??= new Set());
    if (isInside(path, nulled)) return;
    nulled.add(path);
    (this.errors ??= []).push(error);
  }

  fieldsOf(selection: Selection, type: GraphQLObjectType): readonly FieldPlan[] | undefined {
    return this.#fields?.get(selection)?.get(type);
  }

  keepFields(selection: Selection, type: GraphQLObjectType, fields: readonly FieldPlan[]): void {
    const all = (this.#fields ??= new Map());
    const known = all.get(selection);
    if (known) known.set(type, fields);
    else all.set(selection, new Map([[type, fields]]));
  }
}

function isInside(path: Path | undefined, places: ReadonlySet<Path | undefined>): boolean {
  for (let at = path; at !== undefined; at = at.prev) if (places.has(at)) return true;
  return places.has(undefined);
}

/** Resolvers with hooks, by the field that they belong to. */
export type HookedResolvers = ReadonlyMap<GraphQLField<unknown, unknown>, GraphQLFieldResolver<unknown, unknown>>;

/** Turns the value of a resolver into the JSON text of the response, into null, or into a `Later`. */
export type Complete = (
  run: Run,
  field: FieldPlan,
  path: Path | undefined,
  info: GraphQLResolveInfo | null,
  value: unknown,
) => unknown;

/** Everything about a field of a response that does not depend on the request or on its place in the response. */
export interface FieldPlan {
  /** The key in the response. */
  readonly key: string;
  /** The key as it stands in JSON: `"title":`. */
  readonly prefix: string;
  /** The same after another member: `,"title":`. */
  readonly nextPrefix: string;
  /** The name in the schema. */
  readonly name: string;
  readonly definition: GraphQLField<unknown, unknown>;
  /** The nodes that were merged into this field. */
  readonly nodes: readonly FieldNode[];
  readonly parentType: GraphQLObjectType;
  /** Null if the value is a property of the source. */
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | null;
  /** The arguments, if they are the same for every request and have only primitive values. */
  readonly constantArguments: Readonly<Record<string, unknown>> | null;
  readonly hasArguments: boolean;
  /** The number of this field among those whose arguments depend on variables, in a plan that is kept; -1 for others. */
  readonly slot: number;
  readonly nonNull: boolean;
  /** The scalar of the field, required or not; none for a list of them. */
  readonly scalar: Scalar;
  /** True for a leaf: its path is made only for an error. */
  readonly leaf: boolean;
  /** True if completion calls functions of the schema, which take `info`. */
  readonly needsInfo: boolean;
  /** The fields inside of this one. */
  readonly selection: Selection;
  readonly complete: Complete;
  /** True if the list can be sent in parts. */
  readonly streamed: boolean;
}

/** The fields of one or more selection sets, by the type of the object they are executed on. */
export interface Selection {
  /** The execution in which its objects need not be looked at for promises. */
  lookedIn: number;
  fieldsOf(run: Run, type: GraphQLObjectType): readonly FieldPlan[];
  /** The same with the fields of deferred fragments apart. */
  splitOf(run: Run, type: GraphQLObjectType): SplitFields;
}

export interface SplitFields {
  readonly fields: readonly FieldPlan[];
  readonly deferred: readonly { readonly label: string | null; readonly fields: readonly FieldPlan[] }[];
}

/** Fields of a fragment with `@defer`, which are executed after the result around them is complete. */
export interface DeferredPart {
  readonly kind: "defer";
  readonly label: string | null;
  readonly path: Path | undefined;
  readonly fields: readonly FieldPlan[];
  readonly source: unknown;
}

/** The rest of a list with `@stream`. */
export interface StreamedPart {
  readonly kind: "stream";
  readonly label: string | null;
  readonly path: Path;
  readonly field: FieldPlan;
  readonly items: Iterator<unknown> | AsyncIterator<unknown>;
  /** Completes an item: a text or a `Later`. */
  readonly complete: (run: Run, item: unknown, index: number) => unknown;
  /** The index of the next item. */
  index: number;
}

export type Part = DeferredPart | StreamedPart;

/** The parts that one execution leaves for later. The number is bounded for the whole operation; further parts are executed at once. */
export class Parts {
  readonly #list: Part[] = [];
  readonly #room: { left: number };
  #closed = false;

  constructor(room: { left: number }) {
    this.#room = room;
  }

  /** Takes a place for a part; false if there is none. */
  take(): boolean {
    if (this.#closed || this.#room.left <= 0) return false;
    this.#room.left--;
    return true;
  }

  /** Adds a part whose place has been taken. */
  add(part: Part): void {
    if (this.#closed) dropPart(part);
    else this.#list.push(part);
  }

  /** For parts of parts. */
  next(): Parts {
    return new Parts(this.#room);
  }

  /** The parts, when the result is complete. Those inside of a place that an error has made null are dropped. */
  close(isNulled: (path: Path | undefined) => boolean): readonly Part[] {
    this.#closed = true;
    return this.#list.filter((part) => {
      if (!isNulled(part.path)) return true;
      dropPart(part);
      return false;
    });
  }
}

/** Ends the source of a part that is not delivered. */
export function dropPart(part: Part): void {
  if (part.kind === "defer") return;
  try {
    const ended: unknown = part.items.return?.();
    if (ended instanceof Promise) ended.catch(() => {});
  } catch {
    // No code waits for it.
  }
}
