export {
  compareStates,
  type DriftOptions,
  databaseDrift,
  type Introspection,
  type IntrospectOptions,
  introspect,
  normalizeState,
  type UnmanagedTable,
  type WritableState,
  type WriteModelsOptions,
  writeModels,
} from "../introspection/index.js";
export { detectChanges } from "../migrations/autodetector.js";
export { defineConfig, type StoaConfig } from "../migrations/config.js";
export { MigrationError } from "../migrations/errors.js";
export type { MigrationEvent } from "../migrations/event.js";
export { MigrationFailure } from "../migrations/failure.js";
export { type LintFinding, lint } from "../migrations/lint.js";
export type { LintRule } from "../migrations/lint-rules.js";
export { migration } from "../migrations/migration.js";
export {
  type DownOptions,
  type MigrationStep,
  Migrator,
  migrate,
  type SqlOptions,
  type UpOptions,
} from "../migrations/migrator.js";
export type { Migration, MigrationDefinition, Operation, Step } from "../migrations/operation.js";
export { op } from "../migrations/operations.js";
export type { MigratorOptions } from "../migrations/options.js";
export type { Direction } from "../migrations/plan.js";
export type { MigrationStatus } from "../migrations/status.js";
export type {
  ColumnState,
  ForeignKeyState,
  IndexMethod,
  IndexPart,
  IndexState,
  ReferentialRule,
  SchemaState,
  TableState,
  UniqueState,
} from "../orm/schema/state.js";
export { desiredSchema, stateOf } from "../orm/schema/state-of-models.js";
