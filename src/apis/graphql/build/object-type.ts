import { type Inject, isInject, type Provided } from "../../../di/depends.js";
import { isGuard } from "../../../guards/guard.js";
import { checkedOptions } from "../../../kit/config.js";
import { is, isPlainObject } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import type { GraphqlContext } from "../context.js";
import { type ResolverOptions, resolver } from "../resolver.js";
import type { FieldCost, FieldResolver, ReferenceResolver, TypeResolvers } from "../schema-like.js";
import { checkName, describe, directiveText, typeText } from "./names.js";
import type { ArgumentsOf, Result, Shape, TypeGiven, TypeUse } from "./text-types.js";

/** The options of a field with a resolver. */
export interface FieldOptions<T extends TypeGiven, A extends Shape, I extends Inject>
  extends ResolverOptions<I>,
    FieldCost {
  /** `"String!"`, `"[Int!]"`, or a type that was made here: `Book`, `Book.required`, `Book.list`. */
  readonly type: T;
  readonly args?: A;
  readonly description?: string;
  /** The reason why clients should use something else. */
  readonly deprecated?: string;
  /** Directives of the field: `["@shareable"]`. */
  readonly directives?: readonly string[];
}

type NoShape = Record<never, never>;

type Found<Source> = Source | null | undefined;

/** A field of a type, as it stands in the schema. */
export interface FieldDefinition {
  readonly text: string;
  readonly resolve: FieldResolver | null;
  readonly cost?: FieldCost;
}

/** An object type: its fields are read from values of the type `Source`. */
export class ObjectType<Source> implements TypeUse<Source | null> {
  readonly name: string;
  readonly #description: string | undefined;
  readonly #fields = new Map<string, FieldDefinition>();
  readonly #directives: string[] = [];
  /** By the fields of the key. */
  readonly #references: Record<string, ReferenceResolver> = {};

  constructor(name: string, description?: string) {
    this.name = checkName("a type", name);
    this.#description = description;
  }

  /** The type where null is allowed. */
  get text(): string {
    return this.name;
  }

  /** The type where null is not allowed: `Book!`. */
  get required(): TypeUse<Source> {
    return { text: `${this.name}!` };
  }

  /** A list: `[Book!]!`. */
  get list(): TypeUse<readonly Source[]> {
    return { text: `[${this.name}!]!` };
  }

  /** Adds fields that are properties of the source. */
  fields<const F extends { readonly [K in keyof Source]?: TypeGiven }>(fields: F): this {
    if (!isPlainObject(fields)) throw new ValueError(`the fields of ${this.name} are an object of types by name`);
    for (const [name, type] of Object.entries(fields)) {
      const owner = `the field ${this.name}.${checkName(`a field of ${this.name}`, name)}`;
      this.add(name, { text: `${name}: ${typeText(owner, type as TypeGiven)}`, resolve: null });
    }
    return this;
  }

  /** Adds a field with a resolver. */
  field<const T extends TypeGiven>(
    name: string,
    type: T,
    resolve: (parent: Source, args: NoShape, context: GraphqlContext) => Result<T>,
  ): this;
  field<const T extends TypeGiven, const A extends Shape = NoShape, const I extends Inject = NoShape>(
    name: string,
    options: FieldOptions<T, A, I>,
    resolve: (parent: Source, args: ArgumentsOf<A>, context: GraphqlContext, injected: Provided<I>) => Result<T>,
  ): this;
  field(name: string, given: unknown, resolve: unknown): this {
    return this.add(name, readField(this.name, name, given, resolve as FieldResolver));
  }

  /** @internal */
  has(name: string): boolean {
    return this.#fields.has(name);
  }

  /**
   * Makes the type an entity of a federation: `key("id", ({ id }, context) => ...)`. Without a function the reference itself,
   * `{ id }`, is the object.
   */
  key(fields: string, resolve?: ReferenceResolver<Found<Source> | Promise<Found<Source>>>): this {
    if (is.text(fields) !== undefined) throw new ValueError(`key() of ${this.name} needs the names of fields`);
    if (resolve !== undefined && typeof resolve !== "function") {
      throw new ValueError(`key() of ${this.name} takes fields and a function`);
    }
    if (resolve) this.#references[fields] = resolve;
    return this.directive(`@key(fields: ${JSON.stringify(fields)})`);
  }

  /** @internal */
  hasKey(fields: string): boolean {
    return Object.hasOwn(this.#references, fields);
  }

  /** Adds a directive to the type: `directive("@shareable")`. */
  directive(text: string): this {
    this.#directives.push(directiveText(this.name, text));
    return this;
  }

  /** @internal */
  add(name: string, definition: FieldDefinition): this {
    if (this.#fields.has(name)) throw new ValueError(`the field ${this.name}.${name} is defined already`);
    this.#fields.set(name, definition);
    return this;
  }

  /** @internal The definition in GraphQL's language; a root type of which there are no fields has none. */
  definition(keyword = "type"): string {
    if (this.#fields.size === 0 && keyword !== "type") return "";
    const lines = [...this.#fields.values()].map(({ text }) => `  ${text.replaceAll("\n", "\n  ")}`);
    return `${describe(this.#description)}${[keyword, this.name, ...this.#directives].join(" ")} {\n${lines.join("\n")}\n}\n`;
  }

  /** @internal */
  resolvers(): TypeResolvers {
    const all = [...this.#fields].flatMap(([name, { resolve, cost }]) =>
      resolve ? [[name, cost ? { ...cost, resolve } : resolve] as const] : [],
    );
    const references: Record<string, FieldResolver> =
      Object.keys(this.#references).length > 0 ? { __resolveReference: this.#references as never } : {};
    return { ...Object.fromEntries(all), ...references };
  }
}

type AnyFieldOptions = FieldOptions<TypeGiven, Shape, Inject>;

const readFieldOptions = checkedOptions<AnyFieldOptions>({
  type: is.anything,
  args: (value) => (isPlainObject(value) ? undefined : "an object of types by name"),
  description: is.string,
  deprecated: is.text,
  directives: is.strings,
  guards: is.list((value) => (isGuard(value) ? undefined : "a guard")),
  inject: isInject,
  cost: is.number(0),
  size: is.either(is.text, is.number(0)),
});

/** Reads a field: a type, or options with one. */
export function readField(type: string, name: string, given: unknown, resolve: FieldResolver): FieldDefinition {
  const owner = `the field ${type}.${checkName(`a field of ${type}`, name)}`;
  if (typeof resolve !== "function") throw new ValueError(`${owner} needs a function as its resolver`);
  const isOptions = isPlainObject(given) && "type" in given;
  const options: Partial<AnyFieldOptions> = isOptions ? readFieldOptions(owner, given) : { type: given as TypeGiven };
  const args = Object.entries(options.args ?? {}).map(
    ([key, value]) =>
      `${checkName(`an argument of ${owner}`, key)}: ${typeText(`the argument '${key}' of ${owner}`, value, true)}`,
  );
  const deprecated =
    options.deprecated === undefined ? "" : ` @deprecated(reason: ${JSON.stringify(options.deprecated)})`;
  const directives = (options.directives ?? []).map((each) => ` ${directiveText(owner, each)}`).join("");
  const signature = `${name}${args.length > 0 ? `(${args.join(", ")})` : ""}`;
  const text = `${describe(options.description)}${signature}: ${typeText(owner, options.type as TypeGiven)}${deprecated}${directives}`;
  const { guards, inject, cost, size } = options;
  const priced =
    cost === undefined && size === undefined
      ? {}
      : { cost: { ...(cost !== undefined && { cost }), ...(size !== undefined && { size }) } };
  if (!guards?.length && !inject) return { text, resolve, ...priced };
  const guarded = resolver(
    { ...(guards && { guards }), ...(inject && { inject }) },
    resolve as unknown as Parameters<typeof resolver>[1],
  );
  return { text, resolve: guarded as FieldResolver, ...priced };
}
