import type { Inject, Provided } from "../../../di/depends.js";
import { isPlainObject } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import type { GraphqlContext } from "../context.js";
import type { ExposedModel } from "../models/exposed-model.js";
import { type ExposableModel, type ModelTypeOptions, readModelOptions } from "../models/options.js";
import type { EnumValues, FieldResolver, Resolvers, SubscriptionResolver } from "../schema-like.js";
import { checkName, describe, typeText } from "./names.js";
import { type FieldOptions, ObjectType, readField } from "./object-type.js";
import type { ArgumentsOf, Result, Shape, SourceOf, TypeGiven, TypeUse, ValueOf } from "./text-types.js";

type NoShape = Record<never, never>;

/** An input type or an enum, in the uses that arguments have. */
export interface NamedType<Value> extends TypeUse<Value | null> {
  readonly name: string;
  readonly required: TypeUse<Value>;
  readonly list: TypeUse<readonly Value[]>;
}

/** Registers a field of a root type. */
export interface RootField<Self> {
  <const T extends TypeGiven>(
    name: string,
    type: T,
    resolve: (args: NoShape, context: GraphqlContext) => Result<T>,
  ): Self;
  <const T extends TypeGiven, const A extends Shape = NoShape, const I extends Inject = NoShape>(
    name: string,
    options: FieldOptions<T, A, I>,
    resolve: (args: ArgumentsOf<A>, context: GraphqlContext, injected: Provided<I>) => Result<T>,
  ): Self;
}

/** Registers a field of `Subscription`: its function returns the events, each a value of the field's type. */
export interface SubscriptionField<Self> {
  <const T extends TypeGiven>(
    name: string,
    type: T,
    subscribe: (args: NoShape, context: GraphqlContext) => Events<T>,
  ): Self;
  <const T extends TypeGiven, const A extends Shape = NoShape, const I extends Inject = NoShape>(
    name: string,
    options: FieldOptions<T, A, I>,
    subscribe: (args: ArgumentsOf<A>, context: GraphqlContext, injected: Provided<I>) => Events<T>,
  ): Self;
}

type Events<T> = AsyncIterable<ValueOf<T>> | PromiseLike<AsyncIterable<ValueOf<T>>>;

/** The schema in code: `app.graphql`. It becomes one schema with `typeDefs`, if there are any. */
export class SchemaBuilder {
  readonly #query = new ObjectType<unknown>("Query");
  readonly #mutation = new ObjectType<unknown>("Mutation");
  readonly #subscription = new ObjectType<unknown>("Subscription");
  readonly #subscribers: Record<string, SubscriptionResolver> = {};
  readonly #types = new Map<string, ObjectType<never>>();
  readonly #texts = new Map<string, string>();
  readonly #models = new Map<ExposableModel, ExposedModel>();
  readonly #enumValues: Record<string, EnumValues> = {};
  readonly #assertOpen: (call: string) => void;
  #used = false;

  /** @internal */
  constructor(assertOpen: (call: string) => void) {
    this.#assertOpen = assertOpen;
  }

  /** Adds a field of `Query`: `app.graphql.query("hello", "String!", () => "hello")`. */
  readonly query: RootField<this> = (name: string, given: unknown, resolve: unknown): this => {
    this.#open("query");
    return this.#root(this.#query, name, given, resolve);
  };

  /** Adds a field of `Mutation`. */
  readonly mutation: RootField<this> = (name: string, given: unknown, resolve: unknown): this => {
    this.#open("mutation");
    return this.#root(this.#mutation, name, given, resolve);
  };

  /** Adds a field of `Subscription`. */
  readonly subscription: SubscriptionField<this> = (name: string, given: unknown, subscribe: unknown): this => {
    this.#open("subscription");
    const call = subscribe as (...given: unknown[]) => unknown;
    const resolve: FieldResolver = (_parent, args, context, injected) => call(args, context, injected);
    const definition = readField(
      "Subscription",
      name,
      given,
      typeof subscribe === "function" ? resolve : (subscribe as never),
    );
    this.#subscription.add(name, { text: definition.text, resolve: null });
    this.#subscribers[name] = {
      ...definition.cost,
      subscribe: definition.resolve!,
      resolve: (event: unknown) => event,
    };
    return this;
  };

  /** Makes an object type. Its fields are properties of the values that resolvers return. */
  type<const F extends Shape>(
    name: string,
    fields: F,
    options?: { readonly description?: string },
  ): ObjectType<SourceOf<F>>;
  /** Makes an object type for values of a known type; `fields()` and `field()` add its fields. */
  type<Source extends object>(name: string): ObjectType<Source>;
  type(name: string, fields?: Shape, options?: { readonly description?: string }): ObjectType<never> {
    this.#open("type");
    const type = new ObjectType<never>(name, options?.description);
    if (fields !== undefined) type.fields(fields as never);
    this.#claim(name);
    this.#types.set(name, type);
    return type;
  }

  /** Makes an input type, for arguments. */
  input<const F extends Shape>(name: string, fields: F): NamedType<ArgumentsOf<F>> {
    this.#open("input");
    checkName("an input type", name);
    if (!isPlainObject(fields)) throw new ValueError(`the fields of ${name} are an object of types by name`);
    const lines = Object.entries(fields).map(([field, type]) => {
      const owner = `the field ${name}.${checkName(`a field of ${name}`, field)}`;
      return `  ${field}: ${typeText(owner, type as TypeGiven, true)}`;
    });
    this.define(name, `input ${name} {\n${lines.join("\n")}\n}\n`);
    return named(name);
  }

  /** Makes an enum. */
  enum<const V extends string>(name: string, values: readonly V[]): NamedType<V> {
    this.#open("enum");
    checkName("an enum", name);
    if (!Array.isArray(values) || values.length === 0) throw new ValueError(`the enum ${name} needs a list of values`);
    const lines = values.map((value) => `  ${checkName(`a value of ${name}`, value)}`);
    this.define(name, `enum ${name} {\n${lines.join("\n")}\n}\n`);
    return named(name);
  }

  /**
   * Makes an object type of a model, and the fields of `Query` to read one row and pages of rows: `book(id)` and
   * `books(filter, orderBy, first, after, before)`.
   */
  model<M extends ExposableModel>(model: M, options?: ModelTypeOptions<InstanceType<M>>): ObjectType<InstanceType<M>> {
    this.#open("model");
    if (typeof model !== "function" || !("meta" in model)) throw new ValueError("graphql.model() takes a model class");
    if (this.#models.has(model)) throw new ValueError(`graphql.model(${model.name}) was called before`);
    const read = readModelOptions(model.name, options);
    const type = this.type<object>(read.name ?? model.name);
    this.#models.set(model, { model, options: read, type });
    return type as unknown as ObjectType<InstanceType<M>>;
  }

  /** @internal The models that have a type. */
  get models(): readonly ExposedModel[] {
    return [...this.#models.values()];
  }

  /** @internal Sets the values that the program uses for those of an enum. */
  enumValues(name: string, values: EnumValues["values"]): void {
    this.#enumValues[name] = { values };
  }

  /** @internal Adds a field of `Query` at the start, when the types of models are completed. */
  readonly addQuery: RootField<this> = (name: string, given: unknown, resolve: unknown): this => {
    return this.#root(this.#query, name, given, resolve);
  };

  /** @internal The same for `Mutation`. */
  readonly addMutation: RootField<this> = (name: string, given: unknown, resolve: unknown): this => {
    return this.#root(this.#mutation, name, given, resolve);
  };

  /** @internal True if anything was defined. */
  get used(): boolean {
    return this.#used;
  }

  /** @internal Adds a definition in GraphQL's language. */
  define(name: string, text: string): void {
    this.#claim(name);
    this.#texts.set(name, `${describe(undefined)}${text}`);
  }

  /** @internal True if a type has this name. */
  has(name: string): boolean {
    return this.#texts.has(name) || this.#types.has(name);
  }

  /** @internal The schema in GraphQL's language; `extend` where `typeDefs` define the root types. */
  definitions(definesRoot: (name: string) => boolean): string {
    const roots = [this.#query, this.#mutation, this.#subscription].map((root) =>
      root.definition(definesRoot(root.name) ? "extend type" : "root type").replace("root type", "type"),
    );
    const types = [...this.#types.values()].map((type) => type.definition());
    return [...roots, ...types, ...this.#texts.values()].join("\n");
  }

  /** @internal */
  resolvers(): Resolvers {
    const resolvers: Record<string, Resolvers[string]> = {
      Query: this.#query.resolvers(),
      Mutation: this.#mutation.resolvers(),
      Subscription: this.#subscribers,
    };
    for (const [name, type] of this.#types) resolvers[name] = type.resolvers();
    return { ...resolvers, ...this.#enumValues };
  }

  #root(root: ObjectType<unknown>, name: string, given: unknown, resolve: unknown): this {
    if (typeof resolve !== "function")
      throw new ValueError(`the field ${root.name}.${name} needs a function as its resolver`);
    const run = resolve as (...given: unknown[]) => unknown;
    const field: FieldResolver = (_parent, args, context, injected) => run(args, context, injected);
    root.add(name, readField(root.name, name, given, field));
    return this;
  }

  #open(call: string): void {
    this.#assertOpen(`graphql.${call}()`);
    this.#used = true;
  }

  #claim(name: string): void {
    if (this.has(name)) throw new ValueError(`the type ${name} is defined already`);
  }
}

function named<Value>(name: string): NamedType<Value> {
  return { name, text: name, required: { text: `${name}!` }, list: { text: `[${name}!]!` } };
}
