import { MigrationError } from "./errors.js";
import type { Migration } from "./operation.js";

/** The migrations that count for a database with a given history. */
export interface Chosen {
  /** `replaces` of a squashed migration has all names that it replaces, directly or through another squashed migration. */
  readonly active: readonly Migration[];
  /** Squashed migrations that are applied only because all that they replace is: they are not recorded yet. */
  readonly adopted: readonly Migration[];
  /**
   * The names that replace a name in `dependsOn`: a squashed migration for those it replaces, or the other way round.
   */
  standsFor(name: string): readonly string[];
  /** Names that an active squashed migration replaces, directly or through another one. */
  readonly replaced: ReadonlySet<string>;
}

/**
 * A squashed migration replaces its parts, unless a database has applied some of them and not all. Such a database
 * continues with the parts until all are applied.
 */
export function chooseActive(all: readonly Migration[], recorded: ReadonlySet<string>): Chosen {
  const byName = new Map(all.map((migration) => [migration.name, migration]));
  const isApplied = (name: string, path: readonly string[] = []): boolean => {
    if (recorded.has(name)) return true;
    const replaces = byName.get(name)?.replaces ?? [];
    if (path.includes(name)) throw circle([...path, name]);
    return replaces.length > 0 && replaces.every((each) => isApplied(each, [...path, name]));
  };
  const leaves = (name: string): string[] => [name, ...(byName.get(name)?.replaces ?? []).flatMap(leaves)];

  const allOf = (migration: Migration): string[] => [...new Set(migration.replaces.flatMap(leaves))];

  const stands = new Map<string, readonly string[]>();
  const replaced = new Set<string>();
  const adopted: Migration[] = [];
  // The outermost come first: one that replaces another squashed migration decides for that one too.
  const squashed = all.filter((migration) => migration.replaces.length > 0);
  for (const migration of squashed) isApplied(migration.name);
  squashed.sort((one, other) => leaves(other.name).length - leaves(one.name).length);
  for (const migration of squashed) {
    if (replaced.has(migration.name)) continue;
    const old = allOf(migration);
    const applied = isApplied(migration.name);
    if (applied || !old.some((name) => recorded.has(name))) {
      for (const name of old) {
        if (replaced.has(name)) throw new MigrationError(`${name} is replaced by two squashed migrations`);
        replaced.add(name);
        stands.set(name, [migration.name]);
      }
      if (applied && !recorded.has(migration.name)) adopted.push(migration);
    } else {
      refuseMissing(migration, byName, isApplied);
      stands.set(migration.name, migration.replaces);
    }
  }
  const standsFor = (name: string): readonly string[] => {
    const others = stands.get(name);
    return others === undefined ? [name] : [...new Set(others.flatMap(standsFor))];
  };
  const active = all
    .filter(({ name }) => !replaced.has(name) && !stands.has(name))
    .map((migration) => (migration.replaces.length === 0 ? migration : { ...migration, replaces: allOf(migration) }));
  return { active, adopted, standsFor, replaced };
}

function refuseMissing(
  migration: Migration,
  byName: ReadonlyMap<string, Migration>,
  isApplied: (name: string) => boolean,
): void {
  const missing = migration.replaces.filter((name) => !byName.has(name) && !isApplied(name));
  if (missing.length === 0) return;
  const applied = migration.replaces.filter((name) => isApplied(name));
  throw new MigrationError(
    `${migration.name} replaces ${migration.replaces.join(", ")}, of which this database has only ${applied.join(", ")}, ` +
      `and there is no file of ${missing.join(", ")} any more: bring it back until it is applied here`,
  );
}

function circle(names: readonly string[]): MigrationError {
  return new MigrationError(`squashed migrations replace one another in a circle: ${names.join(" -> ")}`);
}
