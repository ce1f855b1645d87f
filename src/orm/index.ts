export { bindDatabase } from "../engines/db/default-database.js";
export type { ModelBody, PartialModelBody } from "./body/body-types.js";
export { nested } from "./body/nested-body.js";
export type { NestedBody } from "./body/nested-body-types.js";
export { partial } from "./body/partial.js";
export { type Unset, unset } from "./compile/json-patch.js";
export { strictRelations } from "./database.js";
export { DoesNotExist, FieldError, LazyLoadError, MultipleObjectsReturned, StaleError } from "./errors.js";
export {
  arrayAgg,
  avg,
  boolAnd,
  boolOr,
  corr,
  count,
  max,
  median,
  min,
  mode,
  percentile,
  percentileDisc,
  regrIntercept,
  regrSlope,
  stddev,
  stringAgg,
  sum,
  variance,
} from "./expressions/aggregates.js";
export { when } from "./expressions/cases.js";
export { Expression, excluded, F, type Ordering, raw, test, value } from "./expressions/expression.js";
export {
  abs,
  castTo,
  ceil,
  coalesce,
  concat,
  denseRank,
  exists,
  extract,
  firstValue,
  floor,
  fn,
  greatest,
  lag,
  lastValue,
  lead,
  least,
  length,
  lower,
  now,
  nullIf,
  outer,
  rank,
  replace,
  round,
  rowNumber,
  searchRank,
  subquery,
  substring,
  type TimeUnit,
  trim,
  truncate,
  upper,
} from "./expressions/functions.js";
export { type Condition, Q } from "./expressions/q.js";
export type { FieldOptions, ManyToManyOptions, RelationOptions } from "./fields/definition.js";
export { field } from "./fields/field.js";
export type { CustomType, Json } from "./fields/field-types.js";
export { mix, softDelete, timestamps } from "./fields/mixins.js";
export { orConflict, orNotFound } from "./http-errors.js";
export type {
  CheckMeta,
  ColumnDefault,
  ColumnKind,
  ColumnMeta,
  ColumnReference,
  ColumnType,
  IndexMeta,
  JsonShape,
  ModelConstructor,
  ModelMeta,
  ReferentialAction,
  RelationMeta,
  UniqueMeta,
} from "./meta.js";
export { Model, type ModelClass, type ModelInstance } from "./model/model.js";
export type { IndexOptions, ModelOptions, UniqueOptions } from "./model/options.js";
export type { NestedInput } from "./query/nested-types.js";
export type { ClientParameters, KeysetPageOptions, PageOptions } from "./query/page-input.js";
export { PendingWrite } from "./query/pending-write.js";
export { prefetch } from "./query/prefetches.js";
export { type Manager, QuerySet } from "./query/queryset.js";
export type { CreateInput, UpdateInput } from "./query/row-types.js";
export type { Lazy } from "./relations/lazy.js";
export { RelatedSet } from "./relations/related-set.js";
export type { BulkCreateOptions } from "./run/bulk.js";
export type { HookContext, HookEvent } from "./run/hooks.js";
export { JsonText } from "./run/json.js";
export type { KeysetPage, Page } from "./run/paginate.js";
export { createTables, createTablesSql, dropTables } from "./schema/create-tables.js";
