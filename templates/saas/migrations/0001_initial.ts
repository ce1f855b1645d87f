import { migration, op } from "stoa/migrations";

export default migration({
  operations: [
    op.createTable("accounts", {
      columns: {
        id: { type: "integer", identity: true },
        email: { type: "varchar(254)" },
        password_hash: { type: "text" },
        created_at: { type: "timestamp(3) with time zone", default: "CURRENT_TIMESTAMP" },
      },
      primaryKey: ["id"],
      unique: {
        accounts_email_key: { columns: ["email"] },
      },
    }),
    op.createTable("projects", {
      columns: {
        id: { type: "integer", identity: true },
        owner_id: { type: "integer" },
        name: { type: "varchar(100)" },
        created_at: { type: "timestamp(3) with time zone", default: "CURRENT_TIMESTAMP" },
      },
      primaryKey: ["id"],
      unique: {
        projects_owner_id_name_key: { columns: ["owner_id", "name"] },
      },
      foreignKeys: {
        projects_owner_id_fkey: { columns: ["owner_id"], table: "accounts", references: ["id"], onDelete: "cascade" },
      },
    }),
  ],
});
