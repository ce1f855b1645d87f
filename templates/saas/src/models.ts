import { field, Model } from "stoa/orm";

/** `npx stoa migrate make` writes a migration for what changes here. */

export class Account extends Model("accounts", {
  id: field.auto(),
  email: field.char({ maxLength: 254, unique: true }),
  passwordHash: field.text({ hidden: true }),
  createdAt: field.datetime({ autoNowAdd: true }),
}) {}

export class Project extends Model(
  "projects",
  {
    id: field.auto(),
    // The unique constraint below is an index that begins with the owner.
    owner: field.foreignKey(() => Account, { index: false }),
    name: field.char({ maxLength: 100 }),
    createdAt: field.datetime({ autoNowAdd: true }),
  },
  { unique: [["owner", "name"]], ordering: ["name"] },
) {}
