/**
 * The queries of PostgreSQL's catalogs. Their number does not depend on the number of tables. Names of tables, types
 * and functions are qualified with their schema only if they are not on the search path.
 */

import type { Queries } from "../engines/db/database.js";
import type { CatalogEntry } from "./names.js";

export interface RelationRow extends CatalogEntry {
  readonly id: string;
  /** `r` table, `p` partitioned table, `v` view, `m` materialized view, `f` foreign table. */
  readonly kind: "r" | "p" | "v" | "m" | "f";
  readonly comment: string | null;
  /** The SELECT of a view. */
  readonly definition: string | null;
}

export interface ColumnRow {
  readonly relation: string;
  readonly name: string;
  /** For a domain or an array of one, with the type that the domain is made of: a model cannot create domains. */
  readonly type: string;
  readonly required: boolean;
  /** The conditions of the domain, with `VALUE` for the column. */
  readonly domainChecks: readonly string[] | null;
  /** The domain of an array's items, as it stands in expressions, and the type that it is made of. */
  readonly itemDomain: string | null;
  readonly itemBase: string | null;
  /** True if that domain has conditions. */
  readonly itemChecked: boolean;
  /** The enum of the column, or of its items if it is an array. */
  readonly enumSchema: string | null;
  readonly enumName: string | null;
  readonly identity: boolean;
  readonly generated: boolean;
  /** The SQL of the default, or of the generated column. */
  readonly expression: string | null;
  readonly collation: string | null;
  readonly comment: string | null;
}

export interface ConstraintRow {
  readonly relation: string;
  readonly name: string;
  /** `p` primary key, `u` unique, `f` foreign key, `c` check, `x` exclusion. */
  readonly kind: "p" | "u" | "f" | "c" | "x";
  readonly columns: readonly string[] | null;
  readonly expression: string | null;
  readonly nullsNotDistinct: boolean;
  readonly targetSchema: string | null;
  readonly targetName: string | null;
  readonly targetVisible: boolean | null;
  readonly targetColumns: readonly string[] | null;
  readonly onDeleteColumns: readonly string[] | null;
  readonly onDelete: string;
  readonly onUpdate: string;
  /** Always false for one column: there it makes no difference. */
  readonly matchFull: boolean;
  readonly deferrable: boolean;
  readonly deferred: boolean;
  /** All of it, as SQL. */
  readonly definition: string;
}

export interface IndexPartRow {
  readonly column: string | null;
  readonly expression: string;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
  readonly operatorClass: string | null;
  readonly collation: string | null;
}

export interface IndexRow {
  readonly relation: string;
  readonly name: string;
  readonly unique: boolean;
  readonly method: string;
  readonly nullsNotDistinct: boolean;
  readonly where: string | null;
  readonly parts: readonly IndexPartRow[];
  readonly include: readonly string[] | null;
}

export interface EnumRow extends CatalogEntry {
  readonly values: readonly string[];
}

/** The schemas of the search path that exist; the first is where new tables go. */
export async function searchPath(db: Queries): Promise<string[]> {
  return (await db.fetchval<string[]>("select pg_catalog.current_schemas(false)::text[]")) ?? [];
}

export async function schemaNames(db: Queries): Promise<string[]> {
  const rows = await db.fetch<{ name: string }>(
    "select nspname::text as name from pg_catalog.pg_namespace where nspname !~ '^pg_(toast|temp)' order by nspname",
  );
  return rows.map(({ name }) => name);
}

/** Leaves out partitions (their parent represents them), temporary tables and tables of extensions. */
export function readRelations(db: Queries, schemas: readonly string[]): Promise<RelationRow[]> {
  return db.fetch(
    `select c.oid::text as id, n.nspname::text as schema, c.relname::text as name, c.relkind::text as kind,
       pg_catalog.pg_table_is_visible(c.oid) as visible, pg_catalog.obj_description(c.oid, 'pg_class') as comment,
       case when c.relkind in ('v', 'm') then pg_catalog.pg_get_viewdef(c.oid) end as definition
     from pg_catalog.pg_class c
     join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any($1::text[]) and c.relkind in ('r', 'p', 'v', 'm', 'f')
       and not c.relispartition and c.relpersistence <> 't' and ${notOfExtension("pg_class", "c.oid")}
     order by pg_catalog.array_position($1::text[], n.nspname::text), c.relname`,
    [schemas],
  );
}

export function readColumns(db: Queries, relations: readonly string[]): Promise<ColumnRow[]> {
  return db.fetch(
    `select a.attrelid::text as relation, a.attname::text as name, a.attnotnull or coalesce(dom.required, false) as required,
       pg_catalog.format_type(coalesce(nullif(core.typarray, 0), core.oid, base.oid),
         coalesce(item.modifier, dom.modifier, a.atttypmod)) as type,
       dom.checks as "domainChecks", case when core.oid is not null then pg_catalog.format_type(i.oid, null) end as "itemDomain",
       pg_catalog.format_type(core.oid, null) as "itemBase",
       item.checks is not null or coalesce(item.required, false) as "itemChecked", e.typname::text as "enumName",
       en.nspname::text as "enumSchema", a.attidentity <> '' as identity, a.attgenerated <> '' as generated,
       coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), dom.value) as expression, co.collname::text as collation,
       pg_catalog.col_description(a.attrelid, a.attnum) as comment
     from pg_catalog.pg_attribute a
     join pg_catalog.pg_type t on t.oid = a.atttypid
     cross join lateral (${domainOf("t")}) dom
     join pg_catalog.pg_type base on base.oid = coalesce(dom.base, t.oid)
     left join pg_catalog.pg_type i on base.typcategory = 'A' and i.oid = base.typelem
     cross join lateral (${domainOf("i")}) item
     left join pg_catalog.pg_type core on core.oid = item.base
     left join pg_catalog.pg_type e on e.typtype = 'e' and e.oid = coalesce(core.oid, i.oid, base.oid)
     left join pg_catalog.pg_namespace en on en.oid = e.typnamespace
     left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     left join pg_catalog.pg_collation co on co.oid = a.attcollation and a.attcollation <> t.typcollation
     where a.attrelid = any($1::text[]::oid[]) and a.attnum > 0 and not a.attisdropped
     order by a.attrelid, a.attnum`,
    [relations],
  );
}

/** A foreign key to a partitioned table has a copy for every partition; those have a parent. */
export function readConstraints(db: Queries, relations: readonly string[]): Promise<ConstraintRow[]> {
  return db.fetch(
    `select c.conrelid::text as relation, c.conname::text as name, c.contype::text as kind,
       ${columnNames("c.conrelid", "c.conkey")} as columns, pg_catalog.pg_get_expr(c.conbin, c.conrelid) as expression,
       coalesce((pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false) as "nullsNotDistinct",
       tn.nspname::text as "targetSchema", t.relname::text as "targetName",
       pg_catalog.pg_table_is_visible(t.oid) as "targetVisible",
       ${columnNames("c.confrelid", "c.confkey")} as "targetColumns",
       ${columnNames(
         "c.conrelid",
         // The list is new in PostgreSQL 15.
         "array(select x::int2 from pg_catalog.jsonb_array_elements_text(nullif(pg_catalog.to_jsonb(c) -> 'confdelsetcols', 'null')) x)",
       )} as "onDeleteColumns",
       c.confdeltype::text as "onDelete", c.confupdtype::text as "onUpdate",
       c.confmatchtype = 'f' and pg_catalog.cardinality(c.conkey) > 1 as "matchFull",
       c.condeferrable as deferrable, c.condeferred as deferred, pg_catalog.pg_get_constraintdef(c.oid) as definition
     from pg_catalog.pg_constraint c
     left join pg_catalog.pg_index i on c.contype = 'u' and i.indexrelid = c.conindid
     left join pg_catalog.pg_class t on c.contype = 'f' and t.oid = c.confrelid
     left join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
     where c.conrelid = any($1::text[]::oid[]) and c.contype in ('p', 'u', 'f', 'c', 'x') and c.conparentid = 0
     order by c.conrelid, c.conname`,
    [relations],
  );
}

/** Leaves out indexes that belong to a constraint, and those left by a failed build. */
export function readIndexes(db: Queries, relations: readonly string[]): Promise<IndexRow[]> {
  return db.fetch(
    `select i.indrelid::text as relation, ic.relname::text as name, i.indisunique as unique, am.amname::text as method,
       pg_catalog.pg_get_expr(i.indpred, i.indrelid) as where,
       coalesce((pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false) as "nullsNotDistinct",
       (select pg_catalog.json_agg(pg_catalog.json_build_object(
           'column', a.attname,
           'expression', pg_catalog.pg_get_indexdef(i.indexrelid, k.place::int, false),
           'descending', i.indoption[k.place - 1] & 1 = 1,
           'nullsFirst', i.indoption[k.place - 1] & 2 = 2,
           'operatorClass', case when not o.opcdefault then
             case when pg_catalog.pg_opclass_is_visible(o.oid) then '' else pg_catalog.quote_ident(n.nspname) || '.' end
             || pg_catalog.quote_ident(o.opcname) end,
           'collation', case when co.oid <> a.attcollation or (a.attnum is null and co.collname <> 'default') then
             case when pg_catalog.pg_collation_is_visible(co.oid) then ''
               else pg_catalog.quote_ident(cn.nspname) || '.' end
             || pg_catalog.quote_ident(co.collname) end
         ) order by k.place)
        from pg_catalog.unnest(i.indkey::int2[]) with ordinality as k(number, place)
        left join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number and k.number <> 0
        join pg_catalog.pg_opclass o on o.oid = i.indclass[k.place - 1]
        join pg_catalog.pg_namespace n on n.oid = o.opcnamespace
        left join pg_catalog.pg_collation co on co.oid = i.indcollation[k.place - 1]
        left join pg_catalog.pg_namespace cn on cn.oid = co.collnamespace
        where k.place <= i.indnkeyatts) as parts,
       ${columnNames("i.indrelid", "(i.indkey::int2[])[i.indnkeyatts:]")} as include
     from pg_catalog.pg_index i
     join pg_catalog.pg_class ic on ic.oid = i.indexrelid
     join pg_catalog.pg_am am on am.oid = ic.relam
     where i.indrelid = any($1::text[]::oid[]) and i.indisvalid and not exists (
       select from pg_catalog.pg_constraint k
       where k.conindid = i.indexrelid and k.conrelid = i.indrelid and k.contype in ('p', 'u', 'x'))
     order by i.indrelid, ic.relname`,
    [relations],
  );
}

export function readEnums(db: Queries, schemas: readonly string[]): Promise<EnumRow[]> {
  return db.fetch(
    `select n.nspname::text as schema, t.typname::text as name, pg_catalog.pg_type_is_visible(t.oid) as visible,
       coalesce((select pg_catalog.array_agg(e.enumlabel::text order by e.enumsortorder)
         from pg_catalog.pg_enum e where e.enumtypid = t.oid), '{}') as values
     from pg_catalog.pg_type t
     join pg_catalog.pg_namespace n on n.oid = t.typnamespace
     where t.typtype = 'e' and n.nspname = any($1::text[]) and ${notOfExtension("pg_type", "t.oid")}
     order by pg_catalog.array_position($1::text[], n.nspname::text), t.typname`,
    [schemas],
  );
}

/** A domain with those that it is made of, the outermost first: its type, its conditions and the first default. Nulls for other types. */
function domainOf(type: string): string {
  return `with recursive parts(level, id, base, modifier, required, value) as (
      select 1, ${type}.oid, ${type}.typbasetype, ${type}.typtypmod, ${type}.typnotnull, ${type}.typdefault
      where ${type}.typtype = 'd'
      union all
      select level + 1, p.oid, p.typbasetype, p.typtypmod, p.typnotnull, p.typdefault
      from parts join pg_catalog.pg_type p on p.oid = parts.base and p.typtype = 'd')
    select (pg_catalog.array_agg(base order by level desc))[1] as base,
      (pg_catalog.array_agg(modifier order by level desc))[1] as modifier, pg_catalog.bool_or(required) as required,
      (pg_catalog.array_agg(value order by level) filter (where value is not null))[1] as value,
      (select pg_catalog.array_agg(pg_catalog.pg_get_expr(k.conbin, 0) order by k.conname)
       from pg_catalog.pg_constraint k where k.contype = 'c' and k.contypid in (select id from parts)) as checks
    from parts`;
}

function notOfExtension(catalog: string, id: string): string {
  return `not exists (select from pg_catalog.pg_depend x where x.deptype = 'e' and x.objid = ${id}
    and x.classid = 'pg_catalog.${catalog}'::pg_catalog.regclass)`;
}

/** The names of columns that a catalog lists by their numbers, in that order; null for none. */
function columnNames(relation: string, numbers: string): string {
  return `(select pg_catalog.array_agg(x.attname::text order by k.place)
    from pg_catalog.unnest(${numbers}) with ordinality as k(number, place)
    join pg_catalog.pg_attribute x on x.attrelid = ${relation} and x.attnum = k.number)`;
}
