import type { Queries } from "stoa";
import { migration, op } from "stoa/migrations";

/** Moves data, then holds the column to having it. Undone, the column may be empty again, and what is in it stays. */
export default migration({
  dependsOn: ["0002_author_sort_name"],
  operations: [op.run(fillSortNames, () => {}), op.alterColumn("authors", "sort_name", { nullable: false })],
});

async function fillSortNames(db: Queries): Promise<void> {
  const authors = await db.fetch<{ id: number; name: string }>("select id, name from authors where sort_name is null");
  await db.execute(
    `update authors set sort_name = filled.sort_name
     from unnest($1::int[], $2::text[]) as filled (id, sort_name)
     where authors.id = filled.id`,
    [authors.map(({ id }) => id), authors.map(({ name }) => sortNameOf(name))],
  );
}

/** As it was when this was written: a migration does the same forever, whatever becomes of the program. */
function sortNameOf(name: string): string {
  const words = name.trim().split(/\s+/);
  let first = words.length - 1;
  while (first > 1 && particles.has(words[first - 1]!.toLowerCase())) first--;
  return first <= 0 ? words.join(" ") : `${words.slice(first).join(" ")}, ${words.slice(0, first).join(" ")}`;
}

const particles = new Set(["da", "de", "di", "du", "la", "le", "van", "von"]);
