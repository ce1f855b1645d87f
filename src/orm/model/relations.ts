import { ValueError } from "../../kit/value-error.js";
import type { FieldSpec } from "../fields/definition.js";
import type { ModelMeta, RelationMeta } from "../meta.js";
import { targetMeta } from "./columns.js";
import { compositeRelation } from "./composite.js";
import { throughTable } from "./through.js";

type ReverseSpec = Extract<FieldSpec, { form: "reverse" }>;
type ManyToManySpec = Extract<FieldSpec, { form: "manyToMany" }>;

/** The relation that a field declares. Its target is resolved on first use. */
export function relationOf(source: ModelMeta, name: string, spec: FieldSpec): RelationMeta {
  switch (spec.form) {
    case "toOne":
      return toOneRelation(source, name, spec.one);
    case "composite":
      return compositeRelation(source, name);
    case "reverse":
      return reverseRelation(source, name, spec);
    case "manyToMany":
      return manyToManyRelation(source, name, spec);
    case "column":
      throw new ValueError(`${source.name}.${name} is no relation`);
  }
}

function toOneRelation(source: ModelMeta, name: string, one: boolean): RelationMeta {
  const sourceColumn = source.column(name)!;
  return {
    name,
    kind: one ? "oneToOne" : "foreignKey",
    single: true,
    nullable: sourceColumn.nullable,
    source,
    sourceColumn,
    sourceColumns: [sourceColumn],
    get target() {
      return sourceColumn.reference!.target;
    },
    get targetColumn() {
      return sourceColumn.reference!.column;
    },
    get targetColumns() {
      return [sourceColumn.reference!.column];
    },
    through: undefined,
  };
}

/** The reverse of a foreign key, a one-to-one relation or a many-to-many relation of the target. */
function reverseRelation(source: ModelMeta, name: string, spec: ReverseSpec): RelationMeta {
  const owner = `${source.name}.${name}`;
  let found: RelationMeta | undefined;
  const back = (): RelationMeta => (found ??= findBack(owner, source, name, spec));
  return {
    name,
    get kind() {
      return back().kind;
    },
    single: spec.one,
    nullable: true,
    source,
    get target() {
      return targetMeta(owner, spec.target);
    },
    get sourceColumn() {
      return back().sourceColumn;
    },
    get targetColumn() {
      return back().targetColumn;
    },
    get sourceColumns() {
      return back().sourceColumns;
    },
    get targetColumns() {
      return back().targetColumns;
    },
    get through() {
      return back().through;
    },
  };
}

function findBack(owner: string, source: ModelMeta, name: string, spec: ReverseSpec): RelationMeta {
  const target = targetMeta(owner, spec.target);
  const forth = target.relations.get(spec.via);
  if (forth === undefined || forth.target.sqlName !== source.sqlName) {
    throw new ValueError(
      `${owner} goes back through ${target.name}.${spec.via}, which is no relation to ${source.name}`,
    );
  }
  if (spec.one !== (forth.kind === "oneToOne")) {
    const maker = spec.one ? "field.reverse" : "field.reverseOne";
    throw new ValueError(`${owner} goes back through ${target.name}.${spec.via}: use ${maker}`);
  }
  return backOf(forth, name);
}

function manyToManyRelation(source: ModelMeta, name: string, spec: ManyToManySpec): RelationMeta {
  const owner = `${source.name}.${name}`;
  let through: NonNullable<RelationMeta["through"]> | undefined;
  const between = (): NonNullable<RelationMeta["through"]> =>
    (through ??= throughTable(source, targetMeta(owner, spec.target), name, spec.options));
  return {
    name,
    kind: "manyToMany",
    single: false,
    nullable: true,
    source,
    get target() {
      return targetMeta(owner, spec.target);
    },
    get sourceColumn() {
      return between().sourceColumn.reference!.column;
    },
    get targetColumn() {
      return between().targetColumn.reference!.column;
    },
    get sourceColumns() {
      return [between().sourceColumn.reference!.column];
    },
    get targetColumns() {
      return [between().targetColumn.reference!.column];
    },
    get through() {
      return between();
    },
  };
}

/** The reverse of a relation, under the given name. */
export function backOf(relation: RelationMeta, name: string): RelationMeta {
  const { through } = relation;
  return {
    name,
    kind: relation.kind === "oneToOne" ? "reverseOne" : relation.kind === "manyToMany" ? "manyToMany" : "reverse",
    single: relation.kind === "oneToOne",
    nullable: true,
    source: relation.target,
    target: relation.source,
    sourceColumn: relation.targetColumn,
    targetColumn: relation.sourceColumn,
    sourceColumns: relation.targetColumns,
    targetColumns: relation.sourceColumns,
    through: through && { ...through, sourceColumn: through.targetColumn, targetColumn: through.sourceColumn },
  };
}
