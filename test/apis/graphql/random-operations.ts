import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigArgumentMap,
  GraphQLFloat,
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLSchema,
  GraphQLString,
  GraphQLUnionType,
  getNamedType,
  isCompositeType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from "graphql";

/** Numbers that follow from a seed: the same seed gives the same schema, operation and results. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  chance(share: number): boolean {
    return this.below(1000) < share * 1000;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}

const color = new GraphQLEnumType({ name: "Color", values: { RED: { value: 1 }, GREEN: { value: "g" }, BLUE: {} } });
const filter = new GraphQLInputObjectType({
  name: "Filter",
  fields: { text: { type: GraphQLString }, limit: { type: GraphQLInt, defaultValue: 3 } },
});
const leaves = [GraphQLInt, GraphQLFloat, GraphQLString, GraphQLBoolean, GraphQLID, color];
const values = [0, -0, 1, 2.5, -7, 2 ** 40, "text", "", "1", true, false, "g", 1, "BLUE", Number.NaN, {}, [1]];

/** A schema whose resolvers fail, return null, wrong values or promises as often as right values. */
export function randomSchema(seed: number): GraphQLSchema {
  const dice = new Dice(seed);
  const objects: GraphQLObjectType[] = [];
  const abstracts: (GraphQLInterfaceType | GraphQLUnionType)[] = [];
  const wrapped = (type: GraphQLOutputType, depth = 0): GraphQLOutputType => {
    if (depth < 2 && dice.chance(0.25)) return wrapped(new GraphQLList(type), depth + 1);
    return dice.chance(0.4) && !isNonNullType(type) ? wrapped(new GraphQLNonNull(type), depth) : type;
  };
  const fieldOf = (name: string): GraphQLFieldConfig<unknown, unknown> => {
    const composite = dice.chance(0.45);
    const named = composite ? dice.pick([...objects, ...objects, ...abstracts]) : dice.pick(leaves);
    const type = wrapped(named);
    const kind = dice.below(4);
    const args: GraphQLFieldConfigArgumentMap = dice.chance(0.3)
      ? { n: { type: dice.chance(0.3) ? new GraphQLNonNull(GraphQLInt) : GraphQLInt }, filter: { type: filter } }
      : {};
    if (kind === 0) return { type, args };
    const salt = dice.below(1e6);
    return {
      type,
      args,
      resolve(_source, given, _context, info) {
        const path: unknown[] = [];
        for (let at: typeof info.path | undefined = info.path; at; at = at.prev) path.push(at.key, at.typename);
        const own = new Dice(salt + hash(`${JSON.stringify(given)}${path.join("/")}${info.fieldName}`));
        if (name === "f0" && Object.keys(given).length > 0) return JSON.stringify(given);
        return randomValue(own, type, objects, 0);
      },
    };
  };
  const fields = () => Object.fromEntries(["f0", "f1", "f2", "f3", "f4"].map((name) => [name, fieldOf(name)]));
  const shared: Record<string, GraphQLFieldConfig<unknown, unknown>> = {
    common: { type: wrapped(dice.pick(leaves)) },
  };
  const slow = dice.chance(0.5);
  const named = new GraphQLInterfaceType({
    name: "Named",
    fields: shared,
    ...(dice.chance(0.5) && { resolveType: (value) => runtimeName(value, slow) }),
  });
  const count = 2 + dice.below(3);
  for (let i = 0; i < count; i++) {
    const checks = dice.chance(0.3);
    let made: ReturnType<typeof fields> | undefined;
    objects.push(
      new GraphQLObjectType({
        name: `T${i}`,
        interfaces: [named],
        fields: () => ({ ...shared, ...(made ??= fields()) }),
        ...(checks && { isTypeOf: (value) => (value as { __typename?: string }).__typename === `T${i}` }),
      }),
    );
  }
  abstracts.push(named, new GraphQLUnionType({ name: "Any", types: objects }));
  const query = new GraphQLObjectType({ name: "Query", fields: fields() });
  const mutation = new GraphQLObjectType({ name: "Mutation", fields: fields() });
  return new GraphQLSchema({ query, mutation, types: [...objects, ...abstracts] });
}

function runtimeName(value: unknown, later: boolean): string | undefined | Promise<string | undefined> {
  const name = (value as { __typename?: string }).__typename;
  return later ? Promise.resolve(name) : name;
}

function randomValue(
  dice: Dice,
  type: GraphQLOutputType,
  objects: readonly GraphQLObjectType[],
  depth: number,
): unknown {
  const bare = isNonNullType(type) ? (type.ofType as GraphQLOutputType) : type;
  const roll = dice.below(100);
  if (roll < 6) throw new Error(`thrown ${roll}`);
  if (roll < 9) return new Error("returned");
  if (roll < 14) return null;
  if (roll < 16) return dice.pick(values);
  if (roll < 19) return Promise.reject(new Error("rejected"));
  if (roll < 35) return later(() => randomValue(dice, type, objects, depth));
  if (isListType(bare)) {
    const items = Array.from({ length: dice.below(4) }, () => guarded(dice, bare.ofType, objects, depth));
    return dice.chance(0.2) ? new Set(items) : items;
  }
  if (!isCompositeType(getNamedType(bare))) return dice.pick(values);
  const target =
    isObjectType(bare) && !dice.chance(0.05) ? bare.name : dice.pick([...objects, { name: "Missing" }]).name;
  const source: Record<string, unknown> = { __typename: target };
  for (const [i, name] of ["common", "f0", "f1", "f2", "f3", "f4"].entries()) {
    const field = objects.find((object) => object.name === target)?.getFields()[name];
    if (!field || depth > 3) continue;
    source[name] = dice.chance(0.3)
      ? () => randomValue(new Dice(i + depth * 7 + 1), field.type, objects, depth + 1)
      : taken(guarded(dice, field.type, objects, depth + 1));
  }
  return source;
}

/** A value that is not thrown while another one is made. */
function guarded(dice: Dice, type: GraphQLOutputType, objects: readonly GraphQLObjectType[], depth: number): unknown {
  try {
    return randomValue(dice, type, objects, depth);
  } catch (error) {
    return error;
  }
}

/** A property that an operation may not ask for: its promise is taken, as a program would. */
function taken(value: unknown): unknown {
  if (value instanceof Promise) value.then(taken, () => {});
  for (const item of Array.isArray(value) || value instanceof Set ? value : []) taken(item);
  return value;
}

async function later(make: () => unknown): Promise<unknown> {
  await null;
  return make();
}

function hash(text: string): number {
  let value = 7;
  for (let i = 0; i < text.length; i++) value = (Math.imul(value, 31) + text.charCodeAt(i)) | 0;
  return value >>> 0;
}

/** An operation on the schema, with fragments, aliases, directives and variables. */
export function randomOperation(
  schema: GraphQLSchema,
  seed: number,
): { text: string; variables: Record<string, unknown> } {
  const dice = new Dice(seed);
  const fragments: string[] = [];
  let aliases = 0;
  const argument = (): string => dice.pick(["1", "$n", "null", "2147483647", "$m"]);
  const selection = (type: GraphQLNamedType, depth: number): string => {
    const parts: string[] = [];
    for (let i = 0; i < 1 + dice.below(4); i++) {
      const roll = dice.below(10);
      const condition = dice.chance(0.15)
        ? dice.pick([" @skip(if: $yes)", " @include(if: $no)", " @include(if: true)"])
        : "";
      if (roll === 0) parts.push(`__typename${condition}`);
      else if (roll === 1 && depth < 3) {
        const target = isUnionType(type) || isInterfaceType(type) ? dice.pick(schema.getPossibleTypes(type)) : type;
        parts.push(`... on ${target.name}${condition} { ${selection(target, depth + 1)} }`);
      } else if (roll === 2 && depth < 3 && fragments.length < 3) {
        const name = `Frag${fragments.length}`;
        fragments.push("");
        fragments[Number(name.slice(4))] = `fragment ${name} on ${type.name} { ${selection(type, depth + 1)} }`;
        parts.push(`...${name}${condition}`);
      } else if (isObjectType(type) || isInterfaceType(type)) {
        const field = dice.pick(Object.values(type.getFields()));
        const inner = getNamedType(field.type);
        const alias = dice.chance(0.1) ? "__proto__" : `a${aliases++}`;
        const given = field.args.length > 0 ? `(n: ${argument()}, filter: { text: "x", limit: $m })` : "";
        if (!isCompositeType(inner)) parts.push(`${alias}: ${field.name}${given}${condition}`);
        else if (depth < 4)
          parts.push(`${alias}: ${field.name}${given}${condition} { ${selection(inner, depth + 1)} }`);
      }
    }
    return parts.length > 0 ? parts.join(" ") : "__typename";
  };
  const kind = dice.chance(0.25) ? "mutation" : "query";
  const root = kind === "mutation" ? schema.getMutationType()! : schema.getQueryType()!;
  const body = selection(root, 0);
  const text = `${kind} Op($n: Int, $m: Int, $yes: Boolean!, $no: Boolean = false) { ${body} } ${fragments.join(" ")}`;
  const variables = {
    ...(dice.chance(0.7) && { n: dice.below(5) }),
    yes: dice.chance(0.5),
    no: dice.pick([true, false, null]),
  };
  return { text, variables };
}
