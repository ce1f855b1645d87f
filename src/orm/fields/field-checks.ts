/** The checks of the options of each field function. */

import { type Checks, is } from "../../internal/options.js";
import type {
  CompositeOptions,
  FieldOptions,
  ManyToManyOptions,
  RelationOptions,
  TextOptions,
  TimeOptions,
} from "./definition.js";
import type { AutoOptions, DatetimeOptions, DecimalOptions, EnumOptions } from "./field-types.js";

export const commonChecks: Checks<FieldOptions<unknown>> = {
  null: is.boolean,
  default: is.anything,
  defaultSql: is.text,
  unique: is.boolean,
  index: is.boolean,
  primaryKey: is.boolean,
  column: is.text,
  readOnly: is.boolean,
  hidden: is.boolean,
  check: is.text,
  generated: is.text,
  comment: is.string,
  renamedFrom: is.text,
};
export const textChecks: Checks<TextOptions> = { ...commonChecks, collation: is.text };
export const charChecks: Checks<TextOptions & { maxLength: number }> = {
  ...textChecks,
  maxLength: is.integer(1, 10_485_760),
};
export const decimalChecks: Checks<DecimalOptions> = {
  ...commonChecks,
  precision: is.integer(1, 1000),
  scale: is.integer(0, 1000),
};
export const timeChecks: Checks<TimeOptions<unknown>> = {
  ...commonChecks,
  autoNow: is.boolean,
  autoNowAdd: is.boolean,
};
export const datetimeChecks: Checks<DatetimeOptions> = {
  ...timeChecks,
  timezone: is.boolean,
  precision: is.integer(0, 6),
};
export const zoneChecks: Checks<FieldOptions<string> & { timezone: boolean }> = {
  ...commonChecks,
  timezone: is.boolean,
};
export const enumChecks: Checks<EnumOptions<string>> = { ...commonChecks, name: is.text };
export const autoChecks: Checks<AutoOptions> = {
  column: is.text,
  comment: is.string,
  renamedFrom: is.text,
  hidden: is.boolean,
};
const action = is.oneOf("cascade", "restrict", "set null", "set default", "no action");
export const relationChecks: Checks<RelationOptions> = {
  null: is.boolean,
  default: is.anything,
  unique: is.boolean,
  index: is.boolean,
  primaryKey: is.boolean,
  column: is.text,
  readOnly: is.boolean,
  hidden: is.boolean,
  comment: is.string,
  renamedFrom: is.text,
  relatedName: is.text,
  to: is.text,
  onDelete: action,
  onUpdate: action,
  deferred: is.boolean,
  constraint: is.boolean,
};
export const compositeChecks: Checks<CompositeOptions> = {
  references: is.strings,
  null: is.boolean,
  unique: is.boolean,
  index: is.boolean,
  relatedName: is.text,
  onDelete: action,
  onUpdate: action,
  setNull: is.strings,
  deferred: is.boolean,
  constraint: is.boolean,
};
export const manyToManyChecks: Checks<ManyToManyOptions> = {
  relatedName: is.text,
  through: is.function,
  throughFields: is.strings,
  table: is.text,
};
