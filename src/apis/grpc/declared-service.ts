import { type Inject, isInject } from "../../di/depends.js";
import type { Guard } from "../../guards/guard.js";
import { options as declare, option } from "../../kit/config.js";
import { type Check, is, isPlainObject, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { isGuardOption } from "../../routing/options.js";
import type { MethodKind, ServiceLike } from "./descriptors.js";
import type { LooseMethod } from "./service-types.js";

/** A handler as the application gave it; null for a method that was only named. */
export interface DeclaredMethod {
  readonly name: string;
  readonly handler: ((...args: never[]) => unknown) | null;
  /** Undefined: by the descriptor, or by the form of the handler. */
  readonly kind: MethodKind | undefined;
  /** True if `kind` was given, and not seen from the handler. */
  readonly kindGiven: boolean;
  readonly idempotent: boolean;
  /** False for a function of a class. */
  readonly own: boolean;
}

/** A service as the application gave it. Its descriptors are read at the start. */
export interface DeclaredService {
  readonly name: string;
  /** The generated descriptor, if there is one. */
  readonly descriptor: ServiceLike | null;
  readonly methods: readonly DeclaredMethod[];
  readonly guards: readonly Guard[];
  readonly inject: Inject | undefined;
  readonly timeout: number | undefined;
  readonly maxMessageSize: number | undefined;
  readonly proto: string | URL | undefined;
  readonly protoPath: readonly string[];
}

const owner = "addGrpcService()";
const fullName = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;
const simpleName = /^[A-Za-z_][A-Za-z0-9_]*$/;

const kinds: readonly MethodKind[] = ["unary", "server_streaming", "client_streaming", "bidi_streaming"];

const isProto: Check<string | URL> = (value) =>
  value instanceof URL || (typeof value === "string" && value !== "") ? undefined : "text, a path or a URL";
const asList = (given: string | readonly string[]): readonly string[] => (typeof given === "string" ? [given] : given);

const serviceOptions = declare(owner, {
  guards: option(is.list(isGuardOption), []),
  inject: option(isInject),
  timeout: option.duration(null, 0, "24d"),
  maxMessageSize: option(is.integer(1, 0x7fff_ffff)),
  proto: option(isProto),
  protoPath: option.made(is.either(is.text, is.strings), asList, []),
});

const methodOptions = declare("a method", {
  kind: option<MethodKind>(is.oneOf(...kinds)),
  idempotent: option(is.boolean),
  handler: option<LooseMethod<Inject>["handler"]>(is.function),
});

/** Reads the arguments of `addGrpcService`. */
export function readService([service, methods, options]: readonly unknown[]): DeclaredService {
  const descriptor = isDescriptor(service) ? service : null;
  const name = descriptor?.typeName ?? service;
  if (typeof name !== "string" || !fullName.test(name)) {
    throw new ValueError(
      `${owner} takes a generated service, or a name such as "books.v1.Books", not ${show(service)}`,
    );
  }
  const given = serviceOptions.read([options]);
  if (descriptor !== null && given.proto !== undefined) {
    throw new ValueError(`option 'proto' in ${owner} goes with a name, not with a generated service`);
  }
  return {
    ...given,
    name,
    descriptor,
    // A class may have other functions beside its handlers: without a definition nothing says which are which.
    methods: readMethods(name, methods).filter(({ own }) => own || descriptor !== null || given.proto !== undefined),
  };
}

function readMethods(service: string, given: unknown): DeclaredMethod[] {
  if (given === undefined || given === null) return [];
  if (Array.isArray(given)) return given.map((name) => declared(service, name, null));
  if (typeof given !== "object") {
    throw new ValueError(
      `the methods of the gRPC service ${service} are an object of handlers by name, not ${show(given)}`,
    );
  }
  return methodNames(given).map((name) => {
    const value = (given as Record<string, unknown>)[name];
    if (typeof value === "function") {
      return declared(service, name, value.bind(given), {
        generator: isGenerator(value),
        own: Object.hasOwn(given, name),
      });
    }
    if (!isPlainObject(value)) {
      throw new ValueError(`the method ${name} of the gRPC service ${service} must be a function, not ${show(value)}`);
    }
    const method = methodOptions.readGiven([value], `the method ${name} of ${service}`);
    if (method.handler === undefined)
      throw new ValueError(`the method ${name} of the gRPC service ${service} needs 'handler'`);
    return declared(service, name, method.handler, { ...method, generator: isGenerator(method.handler) });
  });
}

interface MethodNotes {
  readonly kind?: MethodKind;
  readonly idempotent?: boolean;
  readonly generator?: boolean;
  readonly own?: boolean;
}

function declared(
  service: string,
  name: unknown,
  handler: DeclaredMethod["handler"],
  { kind, idempotent = false, generator = false, own = true }: MethodNotes = {},
): DeclaredMethod {
  if (typeof name !== "string" || !simpleName.test(name)) {
    throw new ValueError(`${show(name)} is not a name of a method, in the gRPC service ${service}`);
  }
  const seen = generator ? "server_streaming" : undefined;
  return { name, handler, kind: kind ?? seen, kindGiven: kind !== undefined, idempotent, own };
}

/** The names of an object's members; of an instance of a class, those of its functions. */
function methodNames(given: object): string[] {
  const isFunction = (name: string): boolean => typeof (given as Record<string, unknown>)[name] === "function";
  const names = new Set(Object.keys(given).filter((name) => isPlainObject(given) || isFunction(name)));
  for (let p = Object.getPrototypeOf(given); p !== null && p !== Object.prototype; p = Object.getPrototypeOf(p)) {
    for (const name of Object.getOwnPropertyNames(p)) {
      if (name !== "constructor" && typeof Object.getOwnPropertyDescriptor(p, name)?.value === "function")
        names.add(name);
    }
  }
  return [...names];
}

function isGenerator(value: unknown): boolean {
  const tag = Object.prototype.toString.call(value);
  return tag === "[object AsyncGeneratorFunction]" || tag === "[object GeneratorFunction]";
}

function isDescriptor(value: unknown): value is ServiceLike {
  const { kind, typeName, method } = (value ?? {}) as Partial<ServiceLike>;
  return kind === "service" && typeof typeName === "string" && typeof method === "object";
}
