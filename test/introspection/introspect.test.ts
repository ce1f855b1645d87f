import { beforeAll, expect, it } from "vitest";
import type { Queries } from "../../src/engines/db/database.js";
import { introspect } from "../../src/introspection/index.js";
import { service } from "../support/service.js";
import { describePairs } from "./databases.js";
import { hostileTables, hostileTypes } from "./hostile.js";
import { legacyTables, legacyTypes } from "./legacy.js";

describePairs("introspect", service("postgres"), (legacy, empty) => {
  beforeAll(async () => {
    await legacy().script(legacyTypes + legacyTables);
  });

  it("introspect() reads columns with their types, defaults, collations and comments", async () => {
    const { customers } = (await introspect(legacy())).tables;
    expect(customers).toMatchObject({ primaryKey: ["id"], comment: "Who buys" });
    expect(customers!.columns).toEqual({
      id: { type: "integer", default: "nextval('customers_id_seq'::regclass)" },
      mail: { type: "text", nullable: true, comment: "may be empty" },
      name: { type: "varchar" },
      initials: { type: "char(3)", nullable: true, default: "'abc'::bpchar" },
      balance: { type: "numeric", default: "0" },
      rate: { type: "numeric(8, 3)", nullable: true, default: "'-1.5'::numeric" },
      rating: { type: "real", nullable: true },
      notes: { type: "json", nullable: true },
      big: { type: "bigint", nullable: true, default: "'9007199254740993'::bigint" },
      active: { type: "boolean", default: "false" },
      status: { type: "status", default: "'new'::status" },
      history: { type: "status[]", default: "'{}'::status[]" },
      created: { type: "timestamp with time zone", default: "now()" },
      changed: { type: "timestamp(0) with time zone", nullable: true },
      clock: { type: "timestamp without time zone", nullable: true, default: "CURRENT_TIMESTAMP" },
      tags: { type: "varchar(20)[]", nullable: true, default: "'{}'::character varying[]" },
      span: { type: "interval day to second", nullable: true },
      odd: { type: "integer", nullable: true },
      secret: { type: "text", nullable: true, default: "'a''b'::text", collation: "C" },
      full_name: {
        type: "text",
        nullable: true,
        generated: "((name)::text || ' '::text) || (COALESCE(initials, ''::bpchar))::text",
      },
    });
  });

  it("introspect() reads constraints, without the keywords around them", async () => {
    const { tables } = await introspect(legacy());
    expect(tables["customers"]!.checks).toEqual({
      customers_mail_check: "mail ~~ '%@%'::text",
      named_check: "(balance >= (0)::numeric) AND ((status <> 'new'::status) OR active)",
      customers_rating_check: "(rating >= (0)::double precision) AND (rating <= (5)::double precision)",
    });
    expect(tables["customers"]!.unique).toEqual({
      customers_mail_name_key: { columns: ["mail", "name"], nullsNotDistinct: true },
    });
    expect(tables["orders"]).toMatchObject({
      columns: { number: { type: "bigint", identity: true } },
      primaryKey: ["shop", "number"],
      foreignKeys: {
        orders_customer_id_fkey: {
          columns: ["customer_id"],
          table: "customers",
          references: ["id"],
          onDelete: "restrict",
          onUpdate: "cascade",
          deferred: true,
        },
        who_sent: { columns: ["referrer"], table: "customers", references: ["id"], onDelete: "set null" },
      },
    });
    expect(tables["order_lines"]!.foreignKeys).toEqual({
      order_lines_product_fkey: { columns: ["product"], table: "products", references: ["title"] },
      order_lines_shop_number_fkey: {
        columns: ["shop", "number"],
        table: "orders",
        references: ["shop", "number"],
        onDelete: "cascade",
      },
    });
  });

  it("introspect() reads indexes, without those of constraints", async () => {
    const { tables } = await introspect(legacy());
    expect(tables["customers"]!.indexes).toEqual({
      customers_lower: {
        on: [{ expression: "lower((name)::text)" }, "mail"],
        where: "active AND ((name)::text <> ''::text)",
        include: ["balance"],
      },
      customers_sorted: {
        on: [
          { column: "name", descending: true, nulls: "last" },
          { column: "balance", descending: true },
        ],
      },
      customers_pattern: {
        on: [
          { column: "name", operatorClass: "varchar_pattern_ops" },
          { column: "secret", operatorClass: "text_pattern_ops" },
        ],
      },
      customers_collated: { on: [{ expression: 'name COLLATE "C"' }] },
      customers_shout: { on: [{ expression: "shout((name)::text)" }], unique: true },
      customers_tags_idx: { on: ["tags"], method: "gin" },
      customers_name_idx: { on: ["name"], method: "hash" },
      customers_status_idx: { on: ["status"] },
    });
    expect(tables["orders"]!.indexes).toBeUndefined();
  });

  it("introspect() separates views and other kinds, and leaves out partitions and its own table", async () => {
    const { tables, unmanaged, enums } = await introspect(legacy());
    expect(Object.keys(tables)).toEqual(
      "accounts bought_together counters customer_profiles customers customers_favourites employees event_notes events no_key order_lines orders people products".split(
        " ",
      ),
    );
    expect(tables["events"]).toEqual({
      columns: {
        id: { type: "bigint", identity: true },
        at: { type: "date" },
        what: { type: "text", nullable: true },
      },
      primaryKey: ["id", "at"],
      indexes: { events_what_idx: { on: ["what"] } },
    });
    expect(Object.keys(tables["event_notes"]!.foreignKeys!)).toEqual(["event_notes_event_at_fkey"]);
    expect(tables["employees"]!.columns).toEqual({
      id: { type: "integer" },
      name: { type: "text", comment: "inherited" },
      salary: { type: "numeric(10, 2)", nullable: true },
    });
    expect(tables["no_key"]!.primaryKey).toBeUndefined();
    expect(unmanaged).toMatchObject({ active_customers: { kind: "view" }, totals: { kind: "materialized view" } });
    expect(unmanaged["totals"]!.columns).toEqual({
      customer_id: { type: "integer", nullable: true },
      orders: { type: "bigint", nullable: true },
    });
    expect(enums).toEqual({ status: ["new", "in progress", "it's done"], "old.grade": ["a", "b"] });
  });

  it("introspect() names the schema of tables outside the search path", async () => {
    const old = await introspect(legacy(), { schemas: ["old"] });
    expect(old.tables).toEqual({
      "old.items": {
        columns: {
          id: { type: "integer", default: "nextval('old.items_id_seq'::regclass)" },
          customer_id: { type: "integer", nullable: true },
          grade: { type: "old.grade", nullable: true, default: "'b'::old.grade" },
          status: { type: "status", nullable: true },
        },
        primaryKey: ["id"],
        foreignKeys: {
          items_customer_id_fkey: {
            columns: ["customer_id"],
            table: "customers",
            references: ["id"],
            onDelete: "cascade",
          },
        },
      },
    });
    expect(Object.keys(old.enums)).toEqual(["old.grade", "status"]);
    const led = await legacy().transaction(async (tx) => {
      await tx.execute("create table old.people (id integer primary key)");
      await tx.execute("set local search_path to old, public");
      const read = await introspect(tx);
      await tx.execute("drop table old.people");
      return read;
    });
    expect(Object.keys(led.tables)).toEqual(expect.arrayContaining(["items", "customers", "people", "public.people"]));
    expect(led.tables["items"]!.columns["grade"]).toEqual({ type: "grade", nullable: true, default: "'b'::grade" });
  });

  it("introspect() reads the given tables, or all except some", async () => {
    const some = await introspect(legacy(), { tables: ["public.people", "products", "active_customers"] });
    expect(Object.keys(some.tables)).toEqual(["people", "products"]);
    expect(Object.keys(some.unmanaged)).toEqual(["active_customers"]);
    expect(Object.keys(some.enums)).toEqual(["old.grade"]);
    const rest = await introspect(legacy(), { exclude: ["public.people", "orders", "totals"] });
    expect(Object.keys(rest.tables)).not.toContain("people");
    expect(Object.keys(rest.tables)).not.toContain("orders");
    expect(Object.keys(rest.unmanaged)).toEqual(["active_customers"]);
  });

  it("introspect() refuses unknown schemas, tables and options", async () => {
    await expect(introspect(legacy(), { schemas: ["odl"] })).rejects.toThrow(
      "the database has no schema odl; did you mean 'old'?",
    );
    await expect(introspect(legacy(), { tables: ["custmers"] })).rejects.toThrow(
      "the database has no table custmers; did you mean 'customers'?",
    );
    await expect(introspect(legacy(), { table: ["a"] } as object)).rejects.toThrow(
      "unknown option 'table' in introspect; did you mean 'tables'?",
    );
    await expect(introspect(legacy(), { tables: "a" as unknown as [] })).rejects.toThrow("must be a list of strings");
  });

  it("introspect() refuses a table whose name has a dot, unless it is excluded", async () => {
    const read = await legacy().transaction(async (tx) => {
      await tx.script('create table "a.b" (id integer primary key); create type "c.d" as enum (\'x\')');
      await tx.script('create table refers (id integer primary key references "a.b", kind "c.d")');
      await expect(introspect(tx)).rejects.toThrow(
        "a.b of the schema public has a dot in its name and would be taken for one of another schema: leave it out with 'exclude'",
      );
      const read = await introspect(tx, { exclude: ["a.b"] });
      await tx.script('drop table refers, "a.b"; drop type "c.d"');
      return read;
    });
    expect(read.tables["refers"]).toEqual({
      columns: { id: { type: "integer" }, kind: { type: '"c.d"', nullable: true } },
      primaryKey: ["id"],
    });
    expect(Object.keys(read.enums)).not.toContain("c.d");
  });

  it("introspect() leaves out the objects of an extension", async () => {
    const read = await legacy().transaction(async (tx) => {
      await tx.script(`create table theirs (id integer primary key); create type their_enum as enum ('x');
        alter extension plpgsql add table theirs; alter extension plpgsql add type their_enum`);
      const read = await introspect(tx);
      await tx.script(`alter extension plpgsql drop table theirs; alter extension plpgsql drop type their_enum;
        drop table theirs; drop type their_enum`);
      return read;
    });
    expect(Object.keys(read.tables)).not.toContain("theirs");
    expect(Object.keys(read.enums)).not.toContain("their_enum");
  });

  it("introspect() sends the same number of queries for many tables as for one", async () => {
    let asked = 0;
    const counted = (queries: Queries): Queries =>
      new Proxy(queries, {
        get(target, name) {
          const member = Reflect.get(target, name, target) as unknown;
          if (typeof member !== "function") return member;
          if (name === "transaction")
            return (run: (tx: Queries) => unknown) => target.transaction((tx) => run(counted(tx)));
          asked++;
          return member.bind(target);
        },
      });
    await introspect(counted(legacy()));
    expect(asked).toBe(6);
  });

  it("introspect() reads an empty database, and names of any kind", async () => {
    expect(await introspect(empty())).toEqual({ tables: {}, enums: {}, unmanaged: {}, leftOut: {} });
    await empty().script(hostileTypes + hostileTables);
    const { tables } = await introspect(empty());
    expect(Object.hasOwn(tables, "__proto__")).toBe(true);
    expect(Object.hasOwn(tables["constructor"]!.columns, "__proto__")).toBe(true);
    expect(Object.keys(tables)).toHaveLength(
      Number(await empty().fetchval("select count(*) from pg_tables where schemaname = 'public'")),
    );
  });
});
