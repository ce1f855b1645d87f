import type { Request } from "../http/request.js";
import { checkedOptions } from "../kit/config.js";
import { isPromise } from "../kit/is-promise.js";
import { capitalized } from "../kit/names.js";
import { is, isPlainObject, show } from "../kit/options.js";
import { didYouMean } from "../kit/suggest.js";
import { ValueError } from "../kit/value-error.js";
import type { Injected, Step } from "../pipeline/endpoint.js";
import { type Inject, isInject } from "./depends.js";

export interface FactoryOptions<I extends Inject = Inject> {
  /** The dependencies of the factory. */
  readonly inject?: I;
  /** Disposes a value after the response. Default: its `[Symbol.asyncDispose]` or `[Symbol.dispose]`, if it has one. */
  readonly dispose?: (value: never) => void | Promise<void>;
}

const readFactoryOptions = checkedOptions<FactoryOptions>({ inject: isInject, dispose: is.function });

export type Factory = (request: Request, injected: Injected) => unknown;

interface Registration {
  readonly lifetime: "singleton" | "scoped" | "transient";
  readonly value: unknown;
  readonly factory: Factory | null;
  readonly inject: Inject;
  readonly dispose: ((value: never) => void | Promise<void>) | undefined;
}

type Resolver = (request: Request) => unknown;

/** Dependencies by name. At start, unknown names and cycles are errors. */
export class Container {
  readonly #registrations = new Map<string, Registration>();
  readonly #overrides = new Map<string, unknown>();

  addSingleton(name: string, value: unknown): void {
    this.#add(name, { lifetime: "singleton", value, factory: null, inject: {}, dispose: undefined });
  }

  /** `given`: the factory, or its options and the factory. */
  addFactory(lifetime: "scoped" | "transient", name: string, given: readonly unknown[]): void {
    const call = `register${capitalized(lifetime)}`;
    const [options, factory] = factoryOf(call, name, given);
    const { inject = {}, dispose } = readFactoryOptions(`${call}()`, options);
    namesIn(inject, `the dependency '${name}'`);
    this.#add(name, { lifetime, value: undefined, factory, inject, dispose });
  }

  /** Puts a value in place of a dependency, for a test; call what it returns to take it away again. */
  override(name: string, value: unknown): () => void {
    if (!this.#registrations.has(name)) throw this.#unknown(name, []);
    this.#overrides.set(name, value);
    return () => void this.#overrides.delete(name);
  }

  /** Checks every registration, so that a mistake shows at start and not at the first request. */
  check(): void {
    for (const name of this.#registrations.keys()) this.#resolver(name, []);
  }

  /** The step that provides what a route asks for. */
  step(inject: Inject, owner: string): Step {
    const entries = namesIn(inject, owner).map(([key, name]) => [key, this.#resolver(name, [owner])] as const);
    return (request, injected) => provide(entries, 0, request, injected);
  }

  #add(name: string, registration: Registration): void {
    if (typeof name !== "string" || name === "") throw new ValueError("a dependency needs a name");
    if (this.#registrations.has(name)) throw new ValueError(`the dependency '${name}' is registered already`);
    this.#registrations.set(name, registration);
  }

  #resolver(name: string, chain: readonly string[]): Resolver {
    const registration = this.#registrations.get(name);
    if (!registration) throw this.#unknown(name, chain);
    if (chain.includes(name)) {
      throw new ValueError(`the dependency '${name}' needs itself: ${[...chain, name].join(" -> ")}`);
    }
    const make = this.#maker(name, registration, [...chain, name]);
    return (request) =>
      this.#overrides.size > 0 && this.#overrides.has(name) ? this.#overrides.get(name) : make(request);
  }

  #maker(name: string, registration: Registration, chain: readonly string[]): Resolver {
    const { lifetime, value, factory, inject } = registration;
    if (factory === null) return () => value;
    const entries = Object.entries(inject).map(
      ([key, dependency]) => [key, this.#resolver(dependency.dependency, chain)] as const,
    );
    const make = (request: Request): unknown => {
      const injected: Injected = {};
      const waiting = provide(entries, 0, request, injected);
      const made = waiting ? waiting.then(() => factory(request, injected)) : native(factory(request, injected));
      disposeAfter(request, made, registration);
      return made;
    };
    if (lifetime === "transient") return make;
    return (request) => {
      const scope = (request.scope ??= new Map());
      if (!scope.has(name)) scope.set(name, make(request));
      return scope.get(name);
    };
  }

  #unknown(name: string, chain: readonly string[]): ValueError {
    const path = chain.length ? ` (${[...chain, name].join(" -> ")})` : "";
    return new ValueError(`unknown dependency '${name}'${path}${didYouMean(name, this.#registrations.keys())}`);
  }
}

function factoryOf(call: string, name: string, given: readonly unknown[]): [options: unknown, factory: Factory] {
  const [first, second] = given;
  if (typeof first === "function" && second !== undefined && second !== null) {
    throw new ValueError(
      `${call}() takes the options before the function: ${call}(${JSON.stringify(name)}, { ... }, factory)`,
    );
  }
  const isAlone = typeof first === "function" || (given.length === 1 && !isPlainObject(first));
  const factory = isAlone ? first : second;
  if (typeof factory !== "function") {
    throw new ValueError(`the dependency '${name}' needs a function that makes it, not ${show(factory)}`);
  }
  return [isAlone ? undefined : first, factory as Factory];
}

/** The names of the dependencies in `inject`, by the names that the handler uses. */
function namesIn(inject: Inject, owner: string): [key: string, name: string][] {
  return Object.entries(inject).map(([key, dependency]) => {
    if (typeof dependency?.dependency !== "string") {
      throw new ValueError(`inject.${key} of ${owner} must be Depends("name"), not ${show(dependency)}`);
    }
    return [key, dependency.dependency];
  });
}

/**
 * A promise of another realm or library as one of ours. An object that has `then` alone, such as a queryset, is a value:
 * it runs when it is awaited, and that is for the handler to decide.
 */
function native(made: unknown): unknown {
  if (!isPromise(made) || made instanceof Promise) return made;
  return typeof (made as Partial<Promise<unknown>>).catch === "function" ? Promise.resolve(made) : made;
}

function provide(
  entries: readonly (readonly [key: string, resolve: Resolver])[],
  from: number,
  request: Request,
  injected: Injected,
): Promise<void> | undefined {
  for (let i = from; i < entries.length; i++) {
    const [key, resolve] = entries[i]!;
    const value = resolve(request);
    if (value instanceof Promise) {
      return value.then((made) => {
        injected[key] = made;
        return provide(entries, i + 1, request, injected);
      });
    }
    injected[key] = value;
  }
  return undefined;
}

function disposeAfter(request: Request, made: unknown, { dispose }: Registration): void {
  if (made instanceof Promise) {
    // A factory that fails has made nothing; its caller gets the error.
    made.then((value) => disposeAfter(request, value, { dispose } as Registration)).catch(() => {});
    return;
  }
  const release = dispose ? () => dispose(made as never) : disposerOf(made);
  if (release) request.onFinish(release);
}

function disposerOf(value: unknown): (() => void | Promise<void>) | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Symbol.asyncDispose in value) return () => (value as AsyncDisposable)[Symbol.asyncDispose]() as Promise<void>;
  if (Symbol.dispose in value) return () => (value as Disposable)[Symbol.dispose]();
  return undefined;
}
