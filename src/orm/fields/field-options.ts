/** The options of each field function. Their types are written by hand, because they have the type of the values. */

import { checkedOptions } from "../../kit/config.js";
import { type Check, is } from "../../kit/options.js";
import { readDecimal } from "../body/decimal-text.js";
import type {
  CompositeOptions,
  FieldOptions,
  ManyToManyOptions,
  NumberOptions,
  RelationOptions,
  TextOptions,
  TimeOptions,
} from "./definition.js";
import type { AutoOptions, DatetimeOptions, DecimalOptions, EnumOptions } from "./field-types.js";

const common = {
  null: is.boolean,
  default: is.anythingOrNull,
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
  validate: is.function,
};
const isPattern: Check = (value) => (value instanceof RegExp ? undefined : "a regular expression");
const isBound: Check = (value) =>
  typeof value === "bigint" || (isNumeric(value) && readDecimal(String(value)) !== undefined) ? undefined : "a number";
const isNumeric = (value: unknown): boolean => typeof value === "number" || typeof value === "string";
const text = { ...common, collation: is.text, minLength: is.integer(1), pattern: isPattern };
const numbers = { ...common, min: isBound, max: isBound };
const times = { ...common, autoNow: is.boolean, autoNowAdd: is.boolean };

export const plain = checkedOptions<FieldOptions<unknown>>(common);
export const ofNumber = checkedOptions<NumberOptions<unknown>>(numbers);
export const ofText = checkedOptions<TextOptions>(text);
export const ofTime = checkedOptions<TimeOptions<unknown>>(times);
export const ofChar = checkedOptions<TextOptions & { maxLength: number }>({
  ...text,
  maxLength: is.integer(1, 10_485_760),
});
export const ofDecimal = checkedOptions<DecimalOptions>({
  ...numbers,
  precision: is.integer(1, 1000),
  scale: is.integer(0, 1000),
});
export const ofDatetime = checkedOptions<DatetimeOptions>({
  ...times,
  timezone: is.boolean,
  precision: is.integer(0, 6),
});
export const ofZonedTime = checkedOptions<FieldOptions<string> & { timezone: boolean }>({
  ...common,
  timezone: is.boolean,
});
export const ofEnum = checkedOptions<EnumOptions<string>>({ ...common, name: is.text });
export const ofAuto = checkedOptions<AutoOptions>({
  column: is.text,
  comment: is.string,
  renamedFrom: is.text,
  hidden: is.boolean,
});
const action = is.oneOf("cascade", "restrict", "set null", "set default", "no action");
export const ofRelation = checkedOptions<RelationOptions>({
  null: is.boolean,
  default: is.anythingOrNull,
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
  constraint: is.either(is.boolean, is.text),
});
export const ofComposite = checkedOptions<CompositeOptions>({
  references: is.strings,
  null: is.boolean,
  unique: is.boolean,
  index: is.boolean,
  relatedName: is.text,
  onDelete: action,
  onUpdate: action,
  setNull: is.strings,
  matchFull: is.boolean,
  deferred: is.boolean,
  constraint: is.either(is.boolean, is.text),
});
export const ofManyToMany = checkedOptions<ManyToManyOptions>({
  relatedName: is.text,
  through: is.function,
  throughFields: is.strings,
  table: is.text,
});
