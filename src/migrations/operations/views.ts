import type { ViewState } from "../../orm/schema/state.js";
import { createViewStatements, dropViewSql } from "../../orm/schema/views.js";
import { MigrationError } from "../errors.js";
import { findView, has, withView } from "../lookup.js";
import type { Operation } from "../operation.js";
import { define } from "./define.js";
import { readQualifiedName, readView } from "./read.js";

/** Creates a view, and the schema that its name may hold; a materialized one with its rows and indexes. */
export function createView(name: string, view: ViewState): Operation {
  readQualifiedName("the name of a view", name);
  const state = readView(`the view ${name}`, view);
  return define({
    source: ["createView", name, state],
    description: `create ${state.materialized ? "materialized " : ""}view ${name}`,
    apply(before) {
      if (has(before.tables, name) || has(before.views, name))
        throw new MigrationError(`there is already a table or view '${name}'`);
      return withView(before, name, state);
    },
    up: () => createViewStatements(name, state),
    down: () => [dropViewSql(name, state)],
  });
}

/** Drops a view. Undoing creates it again. */
export function dropView(name: string): Operation {
  readQualifiedName("the name of a view", name);
  return define({
    source: ["dropView", name],
    description: `drop view ${name}`,
    apply(before) {
      findView(before, name);
      return withView(before, name, undefined);
    },
    up: (before) => [dropViewSql(name, findView(before, name))],
    down: (before) => createViewStatements(name, findView(before, name)),
  });
}
