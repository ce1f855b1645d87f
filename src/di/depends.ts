import { type Check, is } from "../kit/options.js";

/** The dependencies an application registers, by name. Declare them by merging into this interface. */
export interface Dependencies {}

declare const provided: unique symbol;

/** Stands for a dependency until a request needs it. */
export interface Dependency<T = unknown> {
  readonly dependency: string;
  readonly [provided]?: T;
}

/** Asks for a registered dependency by its name: `inject: { mail: Depends<Mailer>("mail") }`. */
export function Depends<Name extends keyof Dependencies>(name: Name): Dependency<Dependencies[Name]>;
export function Depends<T = unknown>(name: string): Dependency<T>;
export function Depends(name: string): Dependency {
  return { dependency: name };
}

/** The dependencies of a handler, by the names that it uses. */
export type Inject = Readonly<Record<string, Dependency>>;

export const isInject: Check<Inject> = (value) =>
  is.record(value) === undefined ? undefined : 'an object such as { mail: Depends("mail") }';

/** The values that a handler gets for its `inject`. */
export type Provided<I> = { [K in keyof I]: I[K] extends Dependency<infer T> ? T : never };
