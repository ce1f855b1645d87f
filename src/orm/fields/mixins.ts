import { ValueError } from "../../kit/value-error.js";
import * as columnTypes from "./column-types.js";
import { define } from "./define.js";
import { field } from "./field.js";
import type { Column } from "./types.js";

/** `...timestamps()` among the fields, or `mix(timestamps(), { ... })`: `createdAt` and `updatedAt`, set automatically. */
export function timestamps(): {
  createdAt: Column<Date, Date | string, "optional" | "readOnly", "datetime">;
  updatedAt: Column<Date, Date | string, "optional" | "readOnly", "datetime">;
} {
  return {
    createdAt: field.datetime({ autoNowAdd: true, readOnly: true }),
    updatedAt: field.datetime({ autoNow: true, readOnly: true }),
  };
}

/**
 * `...softDelete()` among the fields, or `mix(softDelete(), { ... })`: `delete` sets `deletedAt`, and
 * queries skip the row. `withDeleted()` and `onlyDeleted()` include it, `restore()` restores it, `hardDelete()` removes it.
 */
export function softDelete(): { deletedAt: Column<Date, Date | string, "null" | "optional" | "readOnly", "datetime"> } {
  return {
    deletedAt: define({
      form: "column",
      type: columnTypes.datetime,
      options: { null: true, readOnly: true, index: true },
      softDelete: true,
    }),
  };
}

/**
 * Merges groups of fields: `Model("people", mix(timestamps(), { id: field.auto(), get friends() { ... } }))`. Getters stay
 * getters. A spread would read them at once, which fails for models that refer to each other.
 */
export function mix<A extends object, B extends object>(a: A, b: B): A & B;
export function mix<A extends object, B extends object, C extends object>(a: A, b: B, c: C): A & B & C;
export function mix<A extends object, B extends object, C extends object, D extends object>(
  a: A,
  b: B,
  c: C,
  d: D,
): A & B & C & D;
export function mix(...parts: readonly object[]): object {
  const fields = {};
  for (const part of parts) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(part))) {
      if (Object.hasOwn(fields, name)) throw new ValueError(`mix was given two fields named '${name}'`);
      Object.defineProperty(fields, name, descriptor);
    }
  }
  return fields;
}
