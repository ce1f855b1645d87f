import { snakeCase } from "../../kit/names.js";
import { shortName } from "../../orm/identifiers.js";
import { camelWords, wordsOf } from "../../orm/model/words.js";
import { splitName } from "../../orm/schema/names.js";
import { escaped } from "../names.js";
import type { Draft } from "./draft.js";
import { call, type Options } from "./field-call.js";
import type { ForeignKeys, ToOne } from "./foreign-keys.js";
import type { JoinTable } from "./join-tables.js";
import { type Properties, pluralName, wayBackNames } from "./properties.js";
import type { Code } from "./source.js";

/** A relation that is no column of its model. */
export interface RelationField {
  readonly name: string;
  readonly code: Code;
  readonly getter: boolean;
}

/** Everything that is known of the models together. */
export interface Models {
  readonly drafts: ReadonlyMap<string, Draft>;
  readonly classes: ReadonlyMap<string, string>;
  readonly foreignKeys: ReadonlyMap<string, ForeignKeys>;
  readonly properties: ReadonlyMap<string, Properties>;
  readonly joins: readonly JoinTable[];
}

/** Returns a function that is true if one table's class must be mentioned in a getter of the other's. */
export function gettersOf({ drafts, foreignKeys, joins }: Models): (from: string, to: string) => boolean {
  const mentions = new Map([...drafts.keys()].map((table) => [table, new Set<string>()]));
  for (const [table, { toOne, composite }] of foreignKeys) {
    for (const { target } of [...toOne.values(), ...composite]) mentions.get(table)?.add(target.table);
  }
  for (const { draft, source, target, automatic } of joins) {
    const mentioned = mentions.get(source.target.table);
    mentioned?.add(target.target.table);
    if (!automatic) mentioned?.add(draft.table);
  }
  return circles(mentions);
}

/** By table: the many-to-many relations, and the ways back of all relations. */
export function relationFields(
  models: Models,
  inGetter: (from: string, to: string) => boolean,
): Map<string, RelationField[]> {
  const fields = new Map([...models.drafts.keys()].map((table): [string, RelationField[]] => [table, []]));
  for (const join of models.joins) {
    const [from, to] = [join.source.target.table, join.target.target.table];
    const name = manyToManyName(models, join);
    const getter = inGetter(from, to) || (!join.automatic && inGetter(from, join.draft.table));
    fields.get(from)!.push({ name, code: manyToManyCode(models, join, name), getter });
    fields.get(to)!.push(wayBack(models, from, to, name, false, from === to || isRepeated(models.joins, join)));
  }
  for (const [table, { toOne, composite }] of models.foreignKeys) {
    if (!models.drafts.has(table)) continue;
    const relations = [...toOne.values(), ...composite];
    for (const relation of relations) {
      const { target, one } = relation;
      const via = models.properties.get(table)!.nameOf(relation);
      const rivals = relations.filter((other) => other.target === target).length > 1;
      fields.get(target.table)!.push(wayBack(models, table, target.table, via, one, rivals || target.table === table));
    }
  }
  return fields;
}

function wayBack(
  models: Models,
  from: string,
  to: string,
  via: string,
  one: boolean,
  ambiguous: boolean,
): RelationField {
  const name = models.properties.get(to)!.names.take(wayBackNames(from, via, one, ambiguous));
  const target = `() => ${models.classes.get(from)}`;
  const code = call(one ? "field.reverseOne" : "field.reverse", [target, escaped(via)], []);
  // A reverse relation always closes a cycle.
  return { name, code, getter: true };
}

function isRepeated(joins: readonly JoinTable[], { source, target }: JoinTable): boolean {
  const same = (one: ToOne, other: ToOne): boolean => one.target === other.target;
  return joins.filter((other) => same(other.source, source) && same(other.target, target)).length > 1;
}

/**
 * Named after the words that the join table adds to the name of the first table, else after the rows that it leads to.
 */
function manyToManyName({ properties }: Models, { draft, source, target }: JoinTable): string {
  const [table, first] = [splitName(draft.table).name, splitName(source.target.table).name];
  const rest = table.startsWith(`${first}_`) ? [camelWords(wordsOf(table.slice(first.length + 1)))] : [];
  return properties.get(source.target.table)!.names.take([...rest.filter(Boolean), pluralName(target.target.table)]);
}

function manyToManyCode(
  { classes, properties }: Models,
  { draft, source, target, automatic }: JoinTable,
  name: string,
): Code {
  const { name: table } = splitName(draft.table);
  const usual = shortName(`${splitName(source.target.table).name}_${snakeCase(name)}`);
  const own: Options = table === usual ? [] : [["table", escaped(table)]];
  const fields = [source, target].map(({ column }) => escaped(properties.get(draft.table)?.columns.get(column) ?? ""));
  const through: Options = [
    ["through", `() => ${classes.get(draft.table)}`],
    ...(source.target === target.target ? [["throughFields", `[${fields.join(", ")}]`] as const] : []),
  ];
  return call("field.manyToMany", [`() => ${classes.get(target.target.table)}`], automatic ? own : through);
}

/**
 * Returns a function that is true if a mention of one class in another is part of a cycle of mentions. Such a mention
 * must stand in a getter, because the compiler does not follow getters.
 */
function circles(mentions: ReadonlyMap<string, ReadonlySet<string>>): (from: string, to: string) => boolean {
  const reached = new Map<string, ReadonlySet<string>>();
  const from = (start: string): ReadonlySet<string> => {
    const known = reached.get(start);
    if (known) return known;
    const found = new Set<string>([start]);
    for (const each of found) for (const next of mentions.get(each) ?? []) found.add(next);
    reached.set(start, found);
    return found;
  };
  return (source, target) => from(target).has(source);
}
