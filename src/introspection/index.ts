export { compareStates } from "./compare.js";
export { type DriftOptions, databaseDrift } from "./drift.js";
export { type Introspection, type IntrospectOptions, introspect, type UnmanagedTable } from "./introspect.js";
export { normalizeState } from "./normalize.js";
export { type WritableState, type WriteModelsOptions, writeModels } from "./write/write-models.js";
