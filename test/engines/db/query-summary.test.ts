import { describe, expect, it } from "vitest";
import { summarize } from "../../../src/engines/db/sql/query-summary.js";

describe("the summary of a statement", () => {
  it.each([
    ["select * from books where id = $1", "SELECT books"],
    ["  -- a comment from x\n/* from /* y */ z */ SELECT 1 FROM public.books", "SELECT public.books"],
    ['select "t"."a" from "my ""books""" as t', 'SELECT my "books"'],
    [
      "select b.id from books b join authors a on a.id = b.author left join public.authors x on true",
      "SELECT books authors public.authors",
    ],
    ["select a is distinct from b, extract(year from c), 'from x' from only books", "SELECT books"],
    ["select * from (select * from inner_table) t", "SELECT"],
    ["select $1::text", "SELECT"],
    ["with recent as (select * from logs) select * from recent", "SELECT recent"],
    ["with moved as (delete from a returning *) insert into b select * from moved", "INSERT b"],
    ["(select * from a) union (select * from b)", "SELECT a b"],
    ["insert into books (title) values ($1) on conflict do update set title = $1", "INSERT books"],
    ["insert into books select * from others", "INSERT books"],
    ["update only books set a = 1 from others", "UPDATE books"],
    ["delete from books using authors", "DELETE books"],
    ["merge into books using new on true when matched then delete", "MERGE books"],
    ["create table if not exists shop.books (id int references authors)", "CREATE TABLE shop.books"],
    ["create unique index on books (id)", "CREATE INDEX"],
    ["drop table if exists books cascade", "DROP TABLE books"],
    ["truncate table books", "TRUNCATE books"],
    ["listen orders", "LISTEN"],
    ["select 1; drop table books;", "BATCH"],
    ["select 1 from books;  -- the end", "SELECT books"],
    ["selec 1 from books", ""],
    ["", ""],
    ["'secret", ""],
  ])("The summary of %j is %j", (text, summary) => {
    expect(summarize(text).summary).toBe(summary);
  });

  it("The collection is that of a statement with one table", () => {
    expect(summarize("select * from a").collection).toBe("a");
    expect(summarize("select * from a join a on true").collection).toBe("a");
    expect(summarize("select * from a join b on true").collection).toBeUndefined();
  });

  it("A summary has at most 255 characters and no half of a name", () => {
    const joins = Array.from({ length: 40 }, (_, index) => `join table_number_${index} on true`).join(" ");
    const { summary } = summarize(`select * from a ${joins}`);
    expect(summary.length).toBeLessThanOrEqual(255);
    expect(summary).toMatch(/ table_number_\d+$/);
  });
});

describe("the text of a statement in a span", () => {
  it.each([
    ["select * from a where b = $1 and c = 'x'", "select * from a where b = $1 and c = 'x'"],
    ["select 'it''s', 1.5e10, a1 from t2", "select ?, ?, a1 from t2"],
    ["select E'a\\'b', x'ff', $$secret$$, $t$ $$ secret $t$, \"name'\" from t", 'select ?, ?, ?, ?, "name\'" from t'],
    ["select 'secret", "select ?"],
    ["select $$secret", "select ?"],
  ])("The text of %j is shown as %j", (text, shown) => {
    expect(summarize(text).text).toBe(shown);
  });

  it("A text of any length is read in time and cut", () => {
    for (const piece of ["'", "/*", "((", '"', "$a$", "e'\\", "a.", "1.", "$"]) {
      const { text } = summarize(`select ${piece.repeat(200_000)}`);
      expect(text.length).toBeLessThanOrEqual(16_384 * 2);
    }
  });
});
