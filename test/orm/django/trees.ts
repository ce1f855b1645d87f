import { keywords, numbers, statuses, titles } from "./models.js";

/** A condition in the form that both sides read. */
export type Tree =
  | { readonly and: readonly Tree[] }
  | { readonly or: readonly Tree[] }
  | { readonly not: Tree }
  | { readonly key: string; readonly value: unknown };

type Next = (below: number) => number;

const equality = ["", "__in", "__isnull"];
const order = [...equality, "__gt", "__gte", "__lt", "__lte", "__range"];
const patterns = [
  ...["__iexact", "__contains", "__icontains", "__startswith", "__istartswith"],
  ...["__endswith", "__iendswith", "__regex", "__iregex"],
];
const words = ["Dune", "dune", "e", "%", "_", "\\", "Le Guin", "Ann", "wolf", "sf", "draft", ""];
const expressions = ["^D", "e$", "[aeiou]{2}", "u.e"];

interface Source {
  readonly path: string;
  readonly lookups: readonly string[];
  value(next: Next): unknown;
}

const pick = <T>(next: Next, list: readonly T[]): T => list[next(list.length)]!;

const columns = (prefix: string): Source[] => [
  { path: `${prefix}id`, lookups: order.filter((lookup) => lookup !== "__isnull"), value: (next) => 1 + next(60) },
  { path: `${prefix}year`, lookups: order, value: (next) => 1990 + next(20) },
  { path: `${prefix}stock`, lookups: order, value: (next) => next(6) },
  { path: `${prefix}rating`, lookups: order, value: (next) => next(10) / 2 },
  { path: `${prefix}price`, lookups: order, value: (next) => `${next(30)}.50` },
  { path: `${prefix}status`, lookups: [...order, ...patterns], value: (next) => pick(next, statuses) },
  { path: `${prefix}title`, lookups: [...order, ...patterns], value: (next) => pick(next, titles) },
  { path: `${prefix}active`, lookups: [""], value: (next) => next(2) === 0 },
  { path: `${prefix}published`, lookups: order, value: (next) => `200${next(5)}-0${1 + next(9)}-15T12:00:00Z` },
  { path: `${prefix}published__year`, lookups: order.slice(3), value: (next) => 2000 + next(5) },
  { path: `${prefix}published__month`, lookups: ["", "__gte", "__in"], value: (next) => 1 + next(12) },
  { path: `${prefix}published__quarter`, lookups: ["", "__lt"], value: (next) => 1 + next(4) },
  { path: `${prefix}published__hour`, lookups: ["", "__gt"], value: (next) => next(24) },
  { path: `${prefix}keywords`, lookups: ["__contains", "__overlap"], value: (next) => [pick(next, keywords)] },
  { path: `${prefix}keywords__len`, lookups: ["", "__gt"], value: (next) => next(3) },
  { path: `${prefix}data__color`, lookups: [""], value: (next) => pick(next, ["red", "blue", "green"]) },
  { path: `${prefix}data__size`, lookups: ["", "__gt", "__lte"], value: (next) => next(4) },
  { path: `${prefix}data`, lookups: ["__contains"], value: (next) => ({ size: next(4) }) },
];

const persons = (prefix: string): Source[] => [
  {
    path: `${prefix}name`,
    lookups: [...equality, ...patterns],
    value: (next) => pick(next, ["Ann Banks", "Cy Butler"]),
  },
  { path: `${prefix}email`, lookups: ["__isnull", "__endswith"], value: () => ".org" },
  { path: `${prefix}born`, lookups: order, value: (next) => `19${40 + next(40)}-06-15` },
];

const single: readonly Source[] = [
  ...columns(""),
  { path: "author", lookups: ["", "__in", "__isnull"], value: (next) => 1 + next(11) },
  ...persons("author__"),
  ...persons("author__mentor__"),
  { path: "author__mentor", lookups: equality, value: (next) => 1 + next(11) },
  { path: "author__country__code", lookups: ["", "__in", "__isnull"], value: (next) => pick(next, ["us", "gb", "de"]) },
  { path: "author__mentor__country__name", lookups: ["", "__icontains"], value: () => "united" },
];

const listed = [...order, ...patterns].filter((lookup) => lookup !== "__isnull");
const many: readonly Source[] = [
  { path: "tags", lookups: ["", "__in"], value: (next) => 1 + next(4) },
  { path: "tags__name", lookups: listed, value: (next) => pick(next, ["sf", "draft", "classic"]) },
  { path: "reviews__stars", lookups: ["", "__gt", "__in"], value: (next) => 1 + next(5) },
  { path: "reviews__text", lookups: ["", "__contains"], value: (next) => pick(next, ["good", "bad"]) },
  { path: "author__books__stock", lookups: ["", "__gte"], value: (next) => next(6) },
  { path: "author__pupils__name", lookups: ["__startswith"], value: () => "Ann" },
];

function lookup(next: Next, sources: readonly Source[]): Tree {
  const source = pick(next, sources);
  const name = pick(next, source.lookups);
  const one = (): unknown => source.value(next);
  return { key: source.path + name, value: valueFor(next, name, one) };
}

function valueFor(next: Next, name: string, one: () => unknown): unknown {
  switch (name) {
    case "__isnull":
      return next(2) === 0;
    case "__in":
      return Array.from({ length: next(4) }, one);
    case "__range":
      return [one(), one()];
    case "__regex":
    case "__iregex":
      return pick(next, expressions);
    default:
      // `contains` of lists and JSON takes values of their own.
      return typeof one() === "string" && patterns.includes(name) && next(2) === 0 ? pick(next, words) : one();
  }
}

/**
 * Conditions by chance. At most one lookup of each goes through a relation to many: two of them in one condition differ by
 * design, see coming-from.md.
 */
export function randomTrees(count: number): Tree[] {
  const next = numbers(2026);
  return Array.from({ length: count }, () => {
    let manyLeft = next(3) === 0 ? 1 : 0;
    const grow = (depth: number): Tree => {
      const kind = depth === 0 ? 0 : next(6);
      if (kind < 2) {
        if (manyLeft > 0 && next(2) === 0) {
          manyLeft--;
          return lookup(next, many);
        }
        return lookup(next, single);
      }
      if (kind === 2) return { not: grow(depth - 1) };
      const children = Array.from({ length: 2 + next(2) }, () => grow(depth - 1));
      return kind === 3 ? { or: children } : { and: children };
    };
    return grow(1 + next(3));
  });
}

type Leaf = Extract<Tree, { readonly key: string }>;

export function leavesOf(tree: Tree): Leaf[] {
  if ("and" in tree) return tree.and.flatMap(leavesOf);
  if ("or" in tree) return tree.or.flatMap(leavesOf);
  return "not" in tree ? leavesOf(tree.not) : [tree];
}

/** The rows of a condition, by the rows of its lookups: AND is the intersection, OR the union, NOT the rest of all rows. */
export function combined(tree: Tree, all: readonly number[], rowsOf: (leaf: Leaf) => readonly number[]): number[] {
  const rows = (child: Tree): Set<number> => new Set(combined(child, all, rowsOf));
  if ("not" in tree) return without(all, rows(tree.not));
  if (!("and" in tree || "or" in tree)) return [...rowsOf(tree)];
  if ("and" in tree) {
    const sets = tree.and.map(rows);
    return all.filter((id) => sets.every((set) => set.has(id)));
  }
  const sets = tree.or.map(rows);
  return all.filter((id) => sets.some((set) => set.has(id)));
}

function without(all: readonly number[], rows: ReadonlySet<number>): number[] {
  return all.filter((id) => !rows.has(id));
}
