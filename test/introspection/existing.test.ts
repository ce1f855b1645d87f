import { expect, it } from "vitest";
import { createTables } from "../../src/entry/orm.js";
import { databaseDrift, introspect, writeModels } from "../../src/introspection/index.js";
import { detectChanges } from "../../src/migrations/autodetector.js";
import { createTable } from "../../src/migrations/operations/tables.js";
import { emptyState } from "../../src/orm/schema/state.js";
import { desiredSchema, stateOf } from "../../src/orm/schema/state-of-models.js";
import { runUp } from "../migrations/run-operations.js";
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

/** What a schema can have that models say with difficulty, or not at all. */
const hostile = `
create schema shop;
create type mood as enum ('sad', 'so so');
create type shop.size as enum ('s', 'm');
create domain short as varchar(20) check (value <> 'VALUE');
create domain code as short not null default 'none' check (value = lower(value));
create domain "Feeling" as mood;
create domain shop.amount as numeric(10, 2) check (value >= 0);
create domain words as text[];
create domain moods as mood[] check (cardinality(value) < 9);
create table places (
  country char(2), town code, part short,
  constraint where_it_is primary key (country, town)
);
create table visits (
  id bigint generated always as identity constraint "the key" primary key,
  country char(2), town varchar(20), since date not null, until date,
  codes code[] not null default '{}',
  pairs code[] default array['p', 'it''s ::code'],
  feeling "Feeling" default 'sad',
  feelings "Feeling"[] default array['sad', 'so so']::"Feeling"[],
  past moods default '{sad}', plain mood[] default '{so so}', sizes shop.size[],
  prices shop.amount[] default '{1,2}', price shop.amount default 3,
  lists words, more words[],
  days integer generated always as (until - since) stored,
  constraint "until the end" check (until > since),
  constraint known_codes check (codes[1] <> 'x' or 'y' = any (codes)),
  constraint place foreign key (country, town) references places (country, town) match full on update cascade
    deferrable initially deferred,
  constraint one_at_a_time exclude using gist (daterange(since, until) with &&),
  constraint late_unique unique (since, until) deferrable initially deferred
);
create table notes (
  id smallint primary key,
  visit bigint constraint on_demand references visits match full deferrable initially immediate
);
create unique index open_visits on visits (country, lower(town)) include (id) where until is null;
create index visits_codes on visits using gin (codes array_ops);
create index visits_expression on visits ((since + 1), (country || 'x'));
`;

describePairs("a first migration for a database that other tools have made", service("postgres"), (first, second) => {
  it("A hostile schema becomes a migration that makes it in an empty database, without a difference to either", async () => {
    await first().script(hostile);
    const before = await introspect(first());
    const source = writeModels(before, { language: "ts" });
    const desired = desiredSchema(Object.values(await importModels(source)).map((model) => model.meta));
    // Migrations make enums of the search path only.
    await second().script("create schema shop; create type shop.size as enum ('s', 'm')");
    await runUp(second(), detectChanges(emptyState, desired).operations, emptyState);
    expect(await databaseDrift(first(), desired.state, { unexpected: false })).toEqual([]);
    expect(await databaseDrift(second(), desired.state, { unexpected: false })).toEqual([]);
    await second().execute("insert into places values ('de', 'bonn')");
    await expect(
      second().execute("insert into visits (country, since) values ('de', '2020-01-01')"),
      "match full takes all columns or none",
    ).rejects.toMatchObject({ sqlstate: "23503" });
    await second().execute("insert into visits (since, prices) values ('2020-01-01', '{1.5}')");
    const [visit] = await second().fetch("select codes, pairs, feelings::text, past::text, plain::text from visits");
    expect(visit).toEqual({
      codes: [],
      pairs: ["p", "it's ::code"],
      feelings: '{sad,"so so"}',
      past: "{sad}",
      plain: '{"so so"}',
    });
    const notes = source.split("\n").filter((line) => line.trimStart().startsWith("//"));
    expect(notes.map((line) => line.trim())).toEqual([
      "// Migrations do not create the enum shop.size: a model cannot name it.",
      "// The constraint on_demand is not deferrable here: FOREIGN KEY (visit) REFERENCES visits(id) MATCH FULL DEFERRABLE.",
      "// In the database the primary key is named where_it_is.",
      '// In the database the primary key is named "the key".',
      "// The conditions of code for the items of codes are left out.",
      "// The conditions of code for the items of pairs are left out.",
      "// The conditions of shop.amount for the items of prices are left out.",
      "// The constraint one_at_a_time is left out: EXCLUDE USING gist (daterange(since, until) WITH &&).",
      "// The constraint late_unique is not deferrable here: UNIQUE (since, until) DEFERRABLE INITIALLY DEFERRED.",
    ]);
  });
});
