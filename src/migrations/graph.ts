import { didYouMean } from "../kit/suggest.js";
import { MigrationError } from "./errors.js";
import type { Migration } from "./operation.js";
import { chooseActive } from "./squashes.js";

/** Migrations by what they depend on. */
export interface MigrationGraph {
  /** Each migration after its dependencies; otherwise by name. */
  readonly order: readonly Migration[];
  /** Migrations on which no other depends: more than one if two people continued from the same migration. */
  readonly heads: readonly string[];
  /** Squashed migrations that are not recorded but count as applied: all migrations that they replace are applied. */
  readonly adopted: readonly Migration[];
  /** The names of migrations that an active squashed migration replaces. */
  readonly replaced: ReadonlySet<string>;
  /** By its name, or by the beginning of it when no other begins like this: `0003`. */
  find(name: string): Migration;
  /** The names of those that it depends on directly. */
  parents(name: string): ReadonlySet<string>;
  /** The names of those that must come before it, directly or through others. */
  before(name: string): ReadonlySet<string>;
  /** The names of those that depend on it, directly or through others. */
  after(name: string): ReadonlySet<string>;
}

/**
 * Puts migrations in order. `recorded` are the names in the database; they decide which squashed migrations are active.
 */
export function buildGraph(
  migrations: readonly Migration[],
  recorded: ReadonlySet<string> = new Set(),
): MigrationGraph {
  const { active, adopted, replaced, standsFor } = chooseActive(migrations, recorded);
  const byName = new Map(active.map((migration) => [migration.name, migration]));
  const parents = new Map<string, Set<string>>();
  const children = new Map(active.map(({ name }) => [name, new Set<string>()]));
  for (const { name, dependsOn } of active) {
    const names = new Set(dependsOn.flatMap(standsFor));
    // A dependency that it replaces is resolved to its own name.
    names.delete(name);
    for (const dependency of names) {
      if (!byName.has(dependency)) throw missingDependency(name, dependency, byName.keys());
      children.get(dependency)!.add(name);
    }
    parents.set(name, names);
  }
  const order = sorted(active, parents);
  return {
    order,
    heads: [...children]
      .filter(([, names]) => names.size === 0)
      .map(([name]) => name)
      .sort(),
    adopted,
    replaced,
    find: (name) => find(name, order, standsFor),
    parents: (name) => parents.get(name) ?? new Set(),
    before: (name) => reachable(name, parents),
    after: (name) => reachable(name, children),
  };
}

/**
 * Refuses a graph with several heads: it would be a guess which of them to apply, and on which the next migration
 * builds.
 */
export function requireOneHead({ heads }: MigrationGraph): void {
  if (heads.length < 2) return;
  const last = heads.at(-1);
  throw new MigrationError(
    `${heads.length} migrations are the last: ${heads.slice(0, -1).join(", ")} and ${last}; ` +
      "`stoa migrate make --merge` writes one that comes after them",
  );
}

function sorted(migrations: readonly Migration[], parents: ReadonlyMap<string, ReadonlySet<string>>): Migration[] {
  const waiting = [...migrations].sort((one, other) => (one.name < other.name ? -1 : 1));
  const done = new Set<string>();
  const order: Migration[] = [];
  while (waiting.length > 0) {
    const next = waiting.findIndex(({ name }) => [...parents.get(name)!].every((parent) => done.has(parent)));
    if (next === -1) throw circle(waiting[0]!.name, parents, done);
    const [migration] = waiting.splice(next, 1);
    done.add(migration!.name);
    order.push(migration!);
  }
  return order;
}

/** Follows the dependencies of a migration that was never reached until a name repeats. */
function circle(
  start: string,
  parents: ReadonlyMap<string, ReadonlySet<string>>,
  done: ReadonlySet<string>,
): MigrationError {
  const path = [start];
  for (;;) {
    const next = [...parents.get(path.at(-1)!)!].find((name) => !done.has(name))!;
    const seen = path.indexOf(next);
    path.push(next);
    if (seen !== -1)
      return new MigrationError(`migrations depend on one another in a circle: ${path.slice(seen).join(" -> ")}`);
  }
}

function reachable(start: string, edges: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const found = new Set<string>();
  const open = [start];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const next of edges.get(name) ?? []) {
      if (!found.has(next)) open.push(next);
      found.add(next);
    }
  }
  return found;
}

function missingDependency(name: string, dependency: string, known: Iterable<string>): MigrationError {
  return new MigrationError(`${name} depends on ${dependency}, which is not there${didYouMean(dependency, known)}`);
}

function find(given: string, order: readonly Migration[], standsFor: (name: string) => readonly string[]): Migration {
  const names = standsFor(given);
  const exact = order.findLast(({ name }) => names.includes(name));
  if (exact !== undefined) return exact;
  const alike = order.filter(({ name }) => given !== "" && name.startsWith(given));
  if (alike.length === 1) return alike[0]!;
  if (alike.length > 1) {
    throw new MigrationError(`'${given}' may be ${alike.map(({ name }) => name).join(" or ")}: write more of the name`);
  }
  const known = order.map(({ name }) => name);
  throw new MigrationError(`there is no migration '${given}'${didYouMean(given, known)}`);
}
