import { migration, op } from "stoa/migrations";

/** May be null until the next migration has filled it: authors are there already. */
export default migration({
  dependsOn: ["0001_initial"],
  operations: [
    op.addColumn("authors", "sort_name", {
      type: "varchar(110)",
      nullable: true,
      comment: "The name as a catalogue sorts it",
    }),
    op.createIndex("authors", "authors_sort_name_idx", { on: ["sort_name"] }),
  ],
});
