import type { Request } from "../http/request.js";
import { ValueError } from "../kit/value-error.js";

// biome-ignore lint/suspicious/noExplicitAny: a class is any constructor, whatever it takes
export type ErrorClass<E = unknown> = abstract new (...args: any[]) => E;
export type ExceptionHandler<E = unknown> = (request: Request, error: E) => unknown;

/** Throws unless it is a class. A function without a prototype is none: it is the handler, and the class is missing. */
export function checkErrorClass(type: unknown): void {
  if (typeof type === "function" && type.prototype !== undefined) return;
  throw new ValueError(
    "exceptionHandler takes a class of errors first: app.exceptionHandler(Error, (request, error) => ...)",
  );
}

/** Exception handlers by class; the handler of the nearest ancestor of the thrown value is used. */
export class ExceptionHandlers {
  readonly #handlers = new Map<unknown, ExceptionHandler>();

  add<E>(type: ErrorClass<E>, handler: ExceptionHandler<E>): void {
    if (typeof handler !== "function")
      throw new ValueError("exceptionHandler takes a function (request, error) second");
    if (this.#handlers.has(type)) throw new ValueError(`an exception handler for ${type.name} is registered already`);
    this.#handlers.set(type, handler as ExceptionHandler);
  }

  find(error: unknown): ExceptionHandler | undefined {
    if (this.#handlers.size === 0 || typeof error !== "object" || error === null) return undefined;
    try {
      for (let type: unknown = error.constructor; typeof type === "function"; type = Object.getPrototypeOf(type)) {
        const handler = this.#handlers.get(type);
        if (handler) return handler;
      }
    } catch {
      // The thrown value can throw when its class is read: a getter, a proxy.
    }
    return undefined;
  }
}
