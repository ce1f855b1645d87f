import { ValueError } from "../../kit/value-error.js";
import type { ModelConstructor, ModelMeta, RelationMeta } from "../meta.js";
import { buildMeta, type Declaration, type Meta } from "./build-meta.js";
import { TargetNotLoaded } from "./columns.js";
import { backOf } from "./relations.js";

type DefineRelation = (prototype: object, name: string) => void;

const declarations = new Map<object, Declaration>();
const built = new WeakMap<object, Meta>();
const metas = new WeakMap<object, ModelMeta>();
/** Base classes whose `relatedName`s are not yet on the other models. */
const pending = new Set<object>();
/** Base classes whose `relatedName`s cannot be added, with the reason. */
const faults = new WeakMap<object, unknown>();

export function declare(base: object, declaration: Declaration): void {
  declarations.set(base, declaration);
  pending.add(base);
}

/**
 * The metadata of a model's class. It is built on first use: by then all modules are loaded, and relations can be
 * followed.
 */
export function metaFor(model: object, define: DefineRelation): ModelMeta {
  const known = metas.get(model);
  if (known && pending.size === 0) return known;
  const meta = known ?? register(model, define);
  settle(define);
  const base = baseOf(model);
  // Every use of this model throws the error again; uses of other models do not.
  if (faults.has(base)) {
    metas.delete(model);
    throw faults.get(base);
  }
  return meta;
}

function register(model: object, define: DefineRelation): ModelMeta {
  const base = baseOf(model);
  const meta = build(base, define);
  // A class that extends a model's class may be used before the model's class itself.
  if ((meta.model as unknown as object) === base) meta.model = classBelow(base, model) as unknown as ModelConstructor;
  const isOwn = model === base || model === (meta.model as unknown as object);
  const own = isOwn ? meta : meta.withModel(model as unknown as ModelConstructor);
  metas.set(model, own);
  return own;
}

/** The class that directly extends the result of `Model`: `model` itself or a class above it. */
function classBelow(base: object, model: object): object {
  let each = model;
  while (each !== base && Object.getPrototypeOf(each) !== base) each = Object.getPrototypeOf(each);
  return each;
}

/** The class that `Model` returned and that this one extends, directly or not. */
function baseOf(model: object): object {
  for (let each: object | null = model; each !== null; each = Object.getPrototypeOf(each)) {
    if (declarations.has(each)) return each;
  }
  throw new ValueError("a model is a class that extends Model(...)");
}

function build(base: object, define: DefineRelation): Meta {
  const known = built.get(base);
  if (known) return known;
  const meta = buildMeta(declarations.get(base)!, base as unknown as ModelConstructor);
  built.set(base, meta);
  for (const name of meta.specs.keys()) define((base as { prototype: object }).prototype, name);
  return meta;
}

/** Adds the reverse relations named by `relatedName` to the models they lead to. */
function settle(define: DefineRelation): void {
  if (settling) return;
  settling = true;
  try {
    for (const base of pending) settleOne(base, define);
  } finally {
    settling = false;
  }
}

/** True while `settle` runs: following relations reads metadata, which calls `settle` again. */
let settling = false;

function settleOne(base: object, define: DefineRelation): void {
  try {
    addBacks(build(base, define), define);
    pending.delete(base);
  } catch (error) {
    // A module that is not loaded yet will be loaded when a model is next used. Any other error belongs to this model:
    // only uses of this model throw it.
    if (error instanceof ReferenceError || error instanceof TargetNotLoaded) return;
    pending.delete(base);
    faults.set(base, error);
  }
}

function addBacks(meta: Meta, define: DefineRelation): void {
  for (const [name, spec] of meta.specs) {
    const relatedName = "options" in spec && "relatedName" in spec.options ? spec.options.relatedName : undefined;
    if (relatedName === undefined) continue;
    const relation = meta.relations.get(name) as RelationMeta;
    const target = baseOf(relation.target.model);
    const owner = [meta.schema, meta.table, name].filter((part) => part !== undefined).join(".");
    if (build(target, define).addReverse(relatedName, owner, () => backOf(relation, relatedName))) {
      define((target as { prototype: object }).prototype, relatedName);
    }
  }
}
