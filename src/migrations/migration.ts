import { checkedOptions } from "../kit/config.js";
import { is, required, show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import type { MigrationDefinition } from "./operation.js";
import { isOperation } from "./operations/define.js";

/** Checks the options of a migration, without the rules between them. */
export const readDefinition = checkedOptions<MigrationDefinition>({
  dependsOn: is.strings,
  replaces: is.strings,
  transaction: is.boolean,
  assured: is.text,
  operations: (value) => {
    if (!Array.isArray(value)) return "a list of operations";
    const wrong = value.find((item) => !isOperation(item));
    return wrong === undefined
      ? undefined
      : `a list of operations, each made by a call of \`op\`: ${show(wrong)} is none`;
  },
});

/** Defines a migration: the default export of a migration file. */
export function migration(definition: MigrationDefinition): MigrationDefinition {
  const read = readDefinition("migration()", definition);
  const operations = required("migration()", read, "operations");
  const outside = operations.find((operation) => !operation.transactional);
  if (outside && read.transaction !== false) {
    throw new ValueError(`PostgreSQL refuses '${outside.description}' in a transaction: add { transaction: false }`);
  }
  return { ...read, operations };
}
