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
export { detectChanges } from "./autodetector.js";
export { defineConfig, type StoaConfig } from "./config.js";
export { MigrationError } from "./errors.js";
export { MigrationFailure } from "./failure.js";
export { migration } from "./migration.js";
export {
  type DownOptions,
  type MigrationEvent,
  type MigrationStep,
  Migrator,
  type MigratorOptions,
  migrate,
  type SqlOptions,
  type UpOptions,
} from "./migrator.js";
export type { Migration, MigrationDefinition, Operation, Step } from "./operation.js";
export { op } from "./operations.js";
export type { Direction } from "./plan.js";
export type { MigrationStatus } from "./status.js";
