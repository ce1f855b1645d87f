import type { Queries } from "../../src/engines/db/database.js";

/** All that PostgreSQL knows about the schema of a database but the order of columns, one line each, as it tells it. */
export async function fingerprint(db: Queries): Promise<string[]> {
  const lines = await Promise.all(queries.map((query) => db.fetch<{ line: string }>(query)));
  return lines
    .flat()
    .map(({ line }) => line)
    .sort();
}

const ours = "n.nspname NOT IN ('information_schema') AND n.nspname NOT LIKE 'pg\\_%'";

const queries = [
  `SELECT concat_ws(' ', 'column', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), co.collname,
      CASE WHEN a.attnotnull THEN 'not null' END, nullif(a.attidentity, ''), nullif(a.attgenerated, ''),
      'default ' || pg_get_expr(d.adbin, d.adrelid), 'comment ' || col_description(c.oid, a.attnum)) AS line
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum LEFT JOIN pg_collation co ON co.oid = a.attcollation
    WHERE c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND ${ours}`,
  `SELECT concat_ws(' ', 'table', c.oid::regclass, 'comment ' || obj_description(c.oid, 'pg_class')) AS line
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND ${ours}`,
  `SELECT concat_ws(' ', 'constraint', o.conrelid::regclass, o.conname, pg_get_constraintdef(o.oid)) AS line
    FROM pg_constraint o JOIN pg_namespace n ON n.oid = o.connamespace WHERE o.conrelid <> 0 AND o.contype <> 'n' AND ${ours}`,
  `SELECT concat_ws(' ', 'index', pg_get_indexdef(i.indexrelid), i.indisvalid) AS line
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ours}`,
  `SELECT concat_ws(' ', 'enum', t.oid::regtype, string_agg(quote_literal(e.enumlabel), ',' ORDER BY e.enumsortorder)) AS line
    FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid JOIN pg_namespace n ON n.oid = t.typnamespace WHERE ${ours} GROUP BY t.oid`,
];
