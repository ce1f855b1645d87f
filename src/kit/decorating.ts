import { ValueError } from "./value-error.js";

type AnyFunction = (...args: never[]) => unknown;

/**
 * A decorator that registers the decorated function: a plain function at once, a method when its class is instantiated,
 * with the instance as `this`. `onMethod` is called for a decorated method, and returns a function to call at the first
 * instance.
 */
export function decorating<F extends AnyFunction>(
  add: (decorated: F) => void,
  onMethod?: (name: string) => () => void,
): (decorated: F, context?: ClassMethodDecoratorContext) => F | undefined {
  return (decorated, context) => {
    if (typeof context === "string" || typeof context === "symbol") throw new ValueError(legacyDecorators);
    if (context?.kind !== "method") {
      add(decorated);
      return decorated;
    }
    const made = onMethod?.(String(context.name));
    context.addInitializer(function (this: unknown) {
      made?.();
      add(decorated.bind(this as never) as F);
    });
    return undefined;
  };
}

const legacyDecorators =
  "stoa takes standard decorators, and this is a legacy one: remove 'experimentalDecorators' from tsconfig.json, " +
  "or register the method with app.get(path, handler)";
