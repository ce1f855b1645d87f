import { describe, expect, it } from "vitest";
import { parameterColumns } from "../../../../src/engines/db/log/parameter-columns.js";

/** The numbers of the parameters that may be shown. */
function open(text: string, count: number): number[] {
  const columns = parameterColumns(text);
  return Array.from({ length: count }, (_, i) => i + 1).filter((number) => columns.isOpen(number - 1));
}

describe("the columns of parameters", () => {
  it("All parameters are open if no name of the statement is secret", () => {
    expect(open("select * from books where $1 = title and f($2) limit $3", 3)).toEqual([1, 2, 3]);
  });

  it.each([
    ["select password from u where id = $1", 1, [1]],
    ["select password from u where id in ($1, $2) and name like $3", 3, [1, 2, 3]],
    ['select "password" from u where "u"."id" = ANY($1)', 1, [1]],
    ["update u set password = $1, name = $2 where id = $3", 3, [2, 3]],
    ["update u set password = crypt($1, gen_salt('bf')), name = $2", 2, [2]],
    ["insert into u (id, password, name) values ($1, $2, $3), ($4, $5, $6)", 6, [1, 3, 4, 6]],
    ['insert into "u" ("id", "api_key") values (lower($1), trim($2))', 2, [1]],
    ["insert into u (id, password) values ($1, $2) on conflict (id) do update set password = $3, id = $4", 4, [1, 4]],
    ["with x as (insert into u (id, password) values ($1, $2) returning id) select * from x where id = $3", 3, [1, 3]],
    ["select * from u where name = $1 and password = $1", 1, []],
    ["select * from u where $1 = password", 1, []],
    ["select * from u where id = $1 and $2 = password", 2, [1]],
    ["select * from u where (password, id) = ($1, $2)", 2, []],
    ["select * from u where password in ($1::text, $2::text)", 2, []],
    ["select coalesce($1, password) from u", 1, []],
    ["select * from u where info->>'password' = $1 and id = $2", 2, [2]],
    ["select * from tokens where tokens.hash = $1", 1, []],
    ["insert into tokens (hash) values ($1)", 1, []],
    ["insert into u (id, password) select * from unnest($1::int[], $2::text[])", 2, []],
    ["insert into u values ($1, $2), ($3, lower($4))", 4, []],
    ["insert into u as new values ($1) on conflict (id) do update set name = $2", 2, [2]],
    ["insert into u select $1, $2 from v where id = $3", 3, [3]],
    ["select password from u where id = $1 -- name = $2\n and name = $2", 2, [1, 2]],
    ["select E'\\'' from u where password = $1 and name = 'x' and id = $2", 2, [2]],
    ["select password, $tag$ it's $tag$ from u where /* 'x */ id = $1", 1, [1]],
  ] as [string, number, number[]][])("The statement %s shows of its %i parameters only %j", (text, count, shown) => {
    expect(open(text, count)).toEqual(shown);
  });

  it("A very long statement shows none", () => {
    expect(open(`select ${"1,".repeat(10_000)} $1`, 1)).toEqual([]);
  });
});
