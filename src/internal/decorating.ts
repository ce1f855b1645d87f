type AnyFunction = (...args: never[]) => unknown;

/**
 * A decorator that registers the decorated function: a plain function at once, a method when its class is instantiated,
 * with the instance as `this`.
 */
export function decorating<F extends AnyFunction>(
  add: (decorated: F) => void,
): (decorated: F, context?: ClassMethodDecoratorContext) => F | undefined {
  return (decorated, context) => {
    if (context?.kind !== "method") {
      add(decorated);
      return decorated;
    }
    context.addInitializer(function (this: unknown) {
      add(decorated.bind(this as never) as F);
    });
    return undefined;
  };
}
