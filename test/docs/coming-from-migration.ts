import type { Queries } from "stoa";
import { migration, op } from "stoa/migrations";

export default migration({
  dependsOn: ["0001_initial"],
  operations: [
    op.addColumn("books", "pages", { type: "integer", nullable: true }),
    op.run(fill, back),
    op.alterColumn("books", "pages", { nullable: false }),
  ],
});

async function fill(db: Queries): Promise<void> {
  await db.execute("update books set pages = 100");
}

function back(): void {}
