import { Request } from "../http/request.js";
import { snakeCase } from "../internal/names.js";
import type { Middleware } from "../pipeline/middleware.js";
import { addRouteOptions, type RouteOptionRules } from "../route/options.js";
import { type Host, perHost } from "./host.js";

/**
 * The contract of features. One object says everything a feature is: the members that `App` gains from it, the options
 * that routes gain, the members that requests gain, and the stages of its life. It stands in a file `feature.ts` beside
 * the code it wires, is listed once in app/features.ts, and keeps its state with `perHost`.
 *
 * `Face` is an interface of the members that `App` gains. Their documentation is what users see in their editor.
 */
export type FeatureDefinition<Face> = FeatureStages & {
  /** The feature in words, for messages. */
  readonly name: string;
  /** Options that routes gain, with the check of each. */
  readonly routeOptions?: RouteOptionRules;
  /** Members that requests gain; each is read at most a few times in a request. */
  readonly requestMembers?: { readonly [name: string]: (host: Host, request: Request) => unknown };
  /** Setup methods that may be called after the start too. */
  readonly late?: readonly SetupNames<Face>[];
} & Group<"setup", Setup<Face>> &
  Group<"methods", Methods<Face>> &
  Group<"values", Values<Face>>;

/** The life of a feature, in this order. Each stage runs for every application, also where the feature is not enabled. */
export interface FeatureStages {
  /** All routes and settings are known; middleware and routes may still be added. */
  prepare?(host: Host): void | Promise<void>;
  /** Connects, before the first startup hook. What it throws ends the start. */
  open?(host: Host): void | Promise<void>;
  /** Begins work that comes from outside, after the last startup hook. What it throws ends the start. */
  ready?(host: Host): void | Promise<void>;
  /** The server drains: take no new work, finish what is under way. */
  drain?(host: Host): void | Promise<void>;
  /** Ends what `open` began, after the last shutdown hook; features close in reverse order. */
  close?(host: Host): void | Promise<void>;
}

/**
 * Methods that return the application: `enableCors()`. They are refused once the application has started. A method that
 * returns a middleware has it added at the start; the later call wins.
 */
type Setup<Face> = {
  readonly [K in SetupNames<Face>]: Face[K] extends (...args: infer Args) => unknown
    ? (host: Host, ...args: Args) => void | Middleware
    : never;
};

/** Methods that return something else, at any time: `invalidateCache(tags)`. The application is `this` in them. */
type Methods<Face> = {
  readonly [K in MethodNames<Face>]: Face[K] extends (...args: infer Args) => infer Result
    ? (host: Host, ...args: Args) => Result
    : never;
};

/** Properties: `app.database`. */
type Values<Face> = {
  readonly [K in Exclude<keyof Face, SetupNames<Face> | MethodNames<Face>>]: (host: Host) => Face[K];
};

type SetupNames<Face> = {
  [K in keyof Face]: Face[K] extends (...args: infer _Args) => infer Result ? (Face extends Result ? K : never) : never;
}[keyof Face];

type MethodNames<Face> = Exclude<
  { [K in keyof Face]: Face[K] extends (...args: infer _Args) => unknown ? K : never }[keyof Face],
  SetupNames<Face>
>;

/** A property that must be there when it has members, and can be left out when it has none. */
type Group<Name extends string, Members> = keyof Members extends never
  ? { readonly [N in Name]?: undefined }
  : { readonly [N in Name]: Members };

declare const face: unique symbol;

/** A feature as the application knows it. */
export interface Feature<Face = unknown> extends FeatureStages {
  readonly name: string;
  /** The members that `App` gains, for the compiler alone. */
  readonly [face]?: Face;
  /** Gives the members to the prototype of applications, in both spellings. */
  install(prototype: object, hostOf: (app: unknown) => OpenHost): void;
}

/** A host that can refuse changes. */
export interface OpenHost extends Host {
  /** Throws when the application has been started. */
  assertOpen(call: string): void;
}

/** The members of all features in a list. */
export type FacesOf<List> = List extends readonly [Feature<infer Face>, ...infer Rest] ? Face & FacesOf<Rest> : unknown;

type HostFunction = (host: Host, ...args: unknown[]) => unknown;

export function feature<Face>(definition: FeatureDefinition<Face>): Feature<Face> {
  const { name, prepare, open, ready, drain, close } = definition;
  const middlewareOf = perHost(() => new Map<string, Middleware>());
  return {
    name,
    ...(open && { open }),
    ...(ready && { ready }),
    ...(drain && { drain }),
    ...(close && { close }),
    prepare(host) {
      for (const middleware of middlewareOf(host).values()) host.use(middleware);
      return prepare?.(host);
    },
    install(prototype, hostOf) {
      const late: readonly unknown[] = definition.late ?? [];
      for (const [method, call] of functionsOf(definition.setup)) {
        addMember(prototype, method, {
          value(this: unknown, ...args: unknown[]) {
            const host = hostOf(this);
            if (!late.includes(method)) host.assertOpen(`${method}()`);
            const middleware = call(host, ...args) as Middleware | undefined;
            if (middleware !== undefined) middlewareOf(host).set(method, middleware);
            return this;
          },
        });
      }
      for (const [method, call] of functionsOf(definition.methods)) {
        addMember(prototype, method, {
          value(this: unknown, ...args: unknown[]) {
            return call.call(this, hostOf(this), ...args);
          },
        });
      }
      for (const [property, read] of functionsOf(definition.values)) {
        addMember(prototype, property, {
          get(this: unknown) {
            return read(hostOf(this));
          },
        });
      }
      for (const [member, read] of Object.entries(definition.requestMembers ?? {})) addRequestMember(member, read);
      if (definition.routeOptions) addRouteOptions(definition.routeOptions);
    },
  };
}

function functionsOf(group: object | undefined): [name: string, call: HostFunction][] {
  return Object.entries(group ?? {});
}

/** Writable, so that tests can put their own in its place. */
function addMember(prototype: object, name: string, member: PropertyDescriptor): void {
  const descriptor = { configurable: true, ...(member.get ? {} : { writable: true }), ...member };
  Object.defineProperty(prototype, name, descriptor);
  Object.defineProperty(prototype, snakeCase(name), descriptor);
}

function addRequestMember(name: string, read: (host: Host, request: Request) => unknown): void {
  Object.defineProperty(Request.prototype, name, {
    configurable: true,
    get(this: Request) {
      if (this.host === null) throw new Error(`request.${name} is available once an application handles the request`);
      return read(this.host, this);
    },
  });
}
