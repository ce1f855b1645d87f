import { ValueError } from "../../kit/value-error.js";

/** Events of single instances. Bulk operations and queryset updates do not load instances and call no hooks. */
export type HookEvent = "beforeSave" | "afterSave" | "beforeDelete" | "afterDelete";

export interface HookContext {
  /** True if the row is new. */
  readonly created: boolean;
}

export type Hook<M = object> = (instance: M, context: HookContext) => unknown;

const events: readonly HookEvent[] = ["beforeSave", "afterSave", "beforeDelete", "afterDelete"];
const hooks = new WeakMap<object, Map<HookEvent, Hook[]>>();

/** Adds a hook to a model. Returns a function that removes it. */
export function addHook(model: object, event: HookEvent, hook: Hook): () => void {
  if (!events.includes(event))
    throw new ValueError(`'${String(event)}' is not a hook; use one of ${events.join(", ")}`);
  if (typeof hook !== "function") throw new ValueError(`the hook for ${event} must be a function`);
  const own = hooks.get(model) ?? new Map<HookEvent, Hook[]>();
  hooks.set(model, own);
  own.set(event, [...(own.get(event) ?? []), hook]);
  return () =>
    own.set(
      event,
      (own.get(event) ?? []).filter((each) => each !== hook),
    );
}

/** Runs the hooks of a model and of the classes above it, one after the other. */
export async function runHooks(instance: object, event: HookEvent, context: HookContext): Promise<void> {
  for (let model: unknown = instance.constructor; typeof model === "function"; model = Object.getPrototypeOf(model)) {
    for (const hook of hooks.get(model)?.get(event) ?? []) await hook(instance, context);
  }
}
