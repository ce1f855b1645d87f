import { Request } from "../http/request.js";
import { snakeCase } from "../kit/names.js";
import type { Middleware } from "../pipeline/middleware.js";
import { addRouteOptions, type RouteOptionRules } from "../routing/options.js";
import type { HubServices } from "../server/worker-messages/service.js";
import { type Host, perHost } from "./host.js";

/**
 * The contract of features. One object says everything a feature is: the members that `App` gains from it, the options
 * that routes gain, the members that requests gain, and the stages of its life. It stands in a file `feature.ts` beside
 * the code it wires, is listed once in app/features.ts, and keeps its state with `perHost`.
 *
 * `Face` is an interface of the members that `App` gains. Their documentation is what users see in their editor.
 */
export type FeatureDefinition<Face, Given extends readonly unknown[] = []> = FeatureStages & {
  /** The feature in words, for messages. */
  readonly name: string;
  /** True for a client of an external system: it opens before the features that use it, and closes after them. */
  readonly isEngine?: boolean;
  /** Options that routes gain, with the check of each. */
  readonly routeOptions?: RouteOptionRules;
  /** Members that requests gain; each is read at most a few times in a request. */
  readonly requestMembers?: { readonly [name: string]: (host: Host, request: Request) => unknown };
  /** Setup methods that may be called after the start too. */
  readonly late?: readonly SetupNames<Face>[];
  /** Takes the arguments of `app.install(feature, ...)`. A middleware that it returns is added at the start. */
  install?(host: Host, ...given: Given): void | Middleware;
} & Group<"setup", Setup<Face>> &
  Group<"methods", Methods<Face>> &
  Group<"values", Values<Face>>;

/** The life of a feature, in this order. Each stage runs for every application, also where the feature is not enabled. */
export interface FeatureStages {
  /** All routes and settings are known; middleware and routes may still be added. */
  prepare?(host: Host): void | Promise<void>;
  /**
   * All settings are final and nothing has been opened: throws for settings that contradict each other. Returns a sentence
   * for each setting that has no effect; it is logged as a warning, once for all workers.
   */
  review?(host: Host): readonly (string | false)[] | void;
  /** Connects, before the first startup hook. What it throws ends the start. */
  open?(host: Host): void | Promise<void>;
  /** Begins work that comes from outside, after the last startup hook. What it throws ends the start. */
  ready?(host: Host): void | Promise<void>;
  /** The server drains: take no new work, finish what is under way. */
  drain?(host: Host): void | Promise<void>;
  /** Ends what `open` began, after the last shutdown hook; features close in reverse order. */
  close?(host: Host): void | Promise<void>;
  /** The state that a supervisor keeps for its workers, by name. Called in the supervisor, where no other stage runs. */
  services?(): Promise<HubServices>;
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

/** Known to all copies of this package, so that a feature made with another version is recognized. */
export const contract = Symbol.for("stoa.feature");

/** Raised when a feature made for the contract before would not work any more. */
export const contractVersion = 1;

/** A feature as the application knows it. `Given` are the arguments of `app.install` after the feature. */
export interface Feature<Face = unknown, Given extends readonly unknown[] = readonly never[]> extends FeatureStages {
  readonly name: string;
  readonly isEngine: boolean;
  /** The version of the contract that it was made with. */
  readonly [contract]: number;
  /** The members that `App` gains, for the compiler alone. */
  readonly [face]?: Face;
  /** The names of members that applications and requests gain, and of the options that routes gain. */
  readonly members: { readonly [K in "app" | "request" | "routes"]: readonly string[] };
  /** Gives an application, or the prototype of all, the members in both spellings. */
  addMembers(target: object, hostOf: (app: unknown) => Host): void;
  /** Gives routes their options, and requests their members: those of all applications, or of one. */
  addToRequests(host?: Host): void;
  install(host: Host, ...given: Given): void;
}

/** The members of all features in a list. */
export type FacesOf<List> = List extends readonly [Feature<infer Face>, ...infer Rest] ? Face & FacesOf<Rest> : unknown;

type HostFunction = (host: Host, ...args: unknown[]) => unknown;

export function feature<Face, Given extends readonly unknown[] = []>(
  definition: FeatureDefinition<Face, Given>,
): Feature<Face, Given> {
  const { name, isEngine = false, prepare, review, open, ready, drain, close, services } = definition;
  const middlewareOf = perHost(() => new Map<string, Middleware>());
  const { setup, methods, values, requestMembers = {}, routeOptions } = definition;
  return {
    name,
    isEngine,
    [contract]: contractVersion,
    members: {
      app: [setup, methods, values].flatMap((group) => Object.keys(group ?? {})),
      request: Object.keys(requestMembers),
      routes: Object.keys(routeOptions ?? {}),
    },
    ...(review && { review }),
    ...(open && { open }),
    ...(ready && { ready }),
    ...(drain && { drain }),
    ...(close && { close }),
    ...(services && { services }),
    prepare(host) {
      for (const middleware of middlewareOf(host).values()) host.use(middleware);
      return prepare?.(host);
    },
    install(host, ...given) {
      const middleware = definition.install?.(host, ...given);
      if (middleware) middlewareOf(host).set("install", middleware);
    },
    addMembers(target, hostOf) {
      const late: readonly unknown[] = definition.late ?? [];
      for (const [method, call] of functionsOf(setup)) {
        addMember(target, method, {
          value(this: unknown, ...args: unknown[]) {
            const host = hostOf(this);
            if (!late.includes(method)) host.assertOpen(`${method}()`);
            const middleware = call(host, ...args) as Middleware | undefined;
            if (middleware !== undefined) middlewareOf(host).set(method, middleware);
            return this;
          },
        });
      }
      for (const [method, call] of functionsOf(methods)) {
        addMember(target, method, {
          value(this: unknown, ...args: unknown[]) {
            return call.call(this, hostOf(this), ...args);
          },
        });
      }
      for (const [property, read] of functionsOf(values)) {
        addMember(target, property, {
          get(this: unknown) {
            return read(hostOf(this));
          },
        });
      }
    },
    addToRequests(host) {
      for (const [member, read] of Object.entries(requestMembers)) addRequestMember(member, read, host);
      if (routeOptions) addRouteOptions(routeOptions);
    },
  };
}

function functionsOf(group: object | undefined): [name: string, call: HostFunction][] {
  return Object.entries(group ?? {});
}

/** Writable, so that tests can put their own in its place. */
function addMember(target: object, name: string, member: PropertyDescriptor): void {
  const descriptor = { configurable: true, ...(member.get ? {} : { writable: true }), ...member };
  Object.defineProperty(target, name, descriptor);
  Object.defineProperty(target, snakeCase(name), descriptor);
}

type ReadMember = (host: Host, request: Request) => unknown;

/** The members of requests that features from outside add. */
const installedMembers = perHost(() => new Map<string, ReadMember>());

function addRequestMember(name: string, read: ReadMember, owner?: Host): void {
  if (owner !== undefined) installedMembers(owner).set(name, read);
  addMember(Request.prototype, name, {
    get(this: Request) {
      const { host } = this;
      if (host === null) throw new Error(`request.${name} is available once an application handles the request`);
      return owner === undefined ? read(host, this) : installedMembers(host).get(name)?.(host, this);
    },
  });
}
