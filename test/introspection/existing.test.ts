import { expect, it } from "vitest";
import { createTables } from "../../src/entry/orm.js";
import { databaseDrift, introspect, writeModels } from "../../src/introspection/index.js";
import { createTable } from "../../src/migrations/operations/tables.js";
import { emptyState } from "../../src/orm/schema/state.js";
import { stateOf } from "../../src/orm/schema/state-of-models.js";
import { service } from "../support/service.js";
import { describePairs } from "./databases.js";
import { importModels } from "./written-models.js";

/** A schema as other tools write it: serial columns, domains, and names of their own. */
const tables = `
create domain short as varchar(20) check (value <> 'VALUE' and length(value) > 1);
create domain code as short not null default 'none' check (value = lower(value));
create table people (id serial primary key, "Big No" bigserial, name text not null, "Nick" short, code code);
create table letters (
  id bigserial primary key,
  person_id integer not null constraint fk_rails_1a2b3c references people (id) on delete cascade,
  code text,
  country text
);
create unique index letters_code on letters (code, country) nulls not distinct;
create index letters_person on letters (person_id);
`;

describePairs("models of a database that other tools have made", service("postgres"), (first, second) => {
  it("Models of serial columns and foreign names differ from their database in nothing", async () => {
    await first().script(tables);
    const source = writeModels(await introspect(first()), { language: "ts" });
    const models = Object.values(await importModels(source));
    expect(await databaseDrift(first(), stateOf(models.map((model) => model.meta)))).toEqual([]);
    expect(source).toContain('constraint: "fk_rails_1a2b3c"');
    expect(source).toContain("nullsNotDistinct: true");
  });

  it("Their tables can be created in an empty database, and count as serial columns do", async () => {
    const before = await introspect(first());
    const models = Object.values(await importModels(writeModels(before, { language: "ts" })));
    await createTables(second(), models);
    expect(await introspect(second())).toEqual(before);
    await second().execute("insert into people (name) values ('a'), ('b')");
    expect(await second().fetch('select id, "Big No" from people order by id')).toEqual([
      { id: 1, "Big No": 1 },
      { id: 2, "Big No": 2 },
    ]);
    for (const column of ['"Nick"', "code"])
      await expect(second().execute(`insert into people (name, ${column}) values ('c', 'X')`)).rejects.toMatchObject({
        sqlstate: "23514",
      });
    await expect(
      second().execute("insert into letters (person_id) values (1), (1)"),
      "nulls are equal in the index",
    ).rejects.toMatchObject({ sqlstate: "23505" });
    await second().script("drop table letters, people");
    expect(await second().fetchval("select count(*)::int from pg_class where relkind = 'S'")).toBe(0);
  });

  it("A migration creates them too, and removes their sequences when it is undone", async () => {
    const { people } = (await introspect(first())).tables;
    const operation = createTable("people", people!);
    for (const statement of operation.up(emptyState)) await second().script(statement as string);
    expect((await introspect(second())).tables["people"]).toEqual(people);
    for (const statement of operation.down(emptyState) ?? []) await second().script(statement as string);
    expect(await second().fetchval("select count(*)::int from pg_class where relkind = 'S'")).toBe(0);
  });
});
