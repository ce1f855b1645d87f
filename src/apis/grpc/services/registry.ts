import type { DescFile, DescMethod, DescService, Registry } from "@bufbuild/protobuf";
import { didYouMean } from "../../../kit/suggest.js";
import { ValueError } from "../../../kit/value-error.js";
import type { DeclaredMethod, DeclaredService } from "../declared-service.js";
import { loadProto } from "../proto/load.js";
import {
  create,
  createFileRegistry,
  createRegistry,
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
} from "../protobuf.js";

/** A service with its descriptor. */
export interface DescribedService {
  readonly declared: DeclaredService;
  readonly descriptor: DescService;
  /** True if its messages are JSON objects. */
  readonly struct: boolean;
  /** The handlers by the names of the methods in the descriptor. */
  readonly handlers: ReadonlyMap<string, DeclaredMethod>;
}

export function describe(declared: DeclaredService): DescribedService {
  const struct = declared.descriptor === null && declared.proto === undefined;
  const descriptor = struct ? structService(declared) : descriptorOf(declared);
  return { declared, descriptor, struct, handlers: handlersOf(declared, descriptor, struct) };
}

/** All types of some services, for messages of type `google.protobuf.Any`. */
export function registryOf(services: readonly DescribedService[]): Registry {
  return createRegistry(...new Set(services.map(({ descriptor }) => descriptor.file)));
}

function descriptorOf({ descriptor, proto, protoPath, name }: DeclaredService): DescService {
  if (descriptor !== null) return descriptor as unknown as DescService;
  const file = loadProto(proto!, protoPath);
  const service = file.services.find(({ typeName }) => typeName === name);
  if (service !== undefined) return service;
  const names = file.services.map(({ typeName }) => typeName);
  throw new ValueError(
    `the .proto file of ${name} has no service of that name${didYouMean(name, names)}; it has ${names.join(", ") || "none"}`,
  );
}

/** A descriptor for a service that was given by its name alone: reflection and clients see what it exchanges. */
function structService({ name, methods }: DeclaredService): DescService {
  const dot = name.lastIndexOf(".");
  const type = ".google.protobuf.Struct";
  const proto = create(FileDescriptorProtoSchema, {
    name: `${name.replaceAll(".", "/")}.proto`,
    package: name.slice(0, Math.max(0, dot)),
    syntax: "proto3",
    dependency: ["google/protobuf/struct.proto"],
    service: [
      {
        name: name.slice(dot + 1),
        method: methods.map(({ name: method, kind, idempotent }) => ({
          name: method,
          inputType: type,
          outputType: type,
          clientStreaming: kind === "client_streaming" || kind === "bidi_streaming",
          serverStreaming: kind === "server_streaming" || kind === "bidi_streaming",
          ...(idempotent && { options: { idempotencyLevel: 1 } }),
        })),
      },
    ],
  });
  const registry = createFileRegistry(proto, () => file_google_protobuf_struct);
  return registry.getService(name)!;
}

function handlersOf(declared: DeclaredService, descriptor: DescService, struct: boolean): Map<string, DeclaredMethod> {
  const handlers = new Map<string, DeclaredMethod>();
  for (const given of declared.methods) {
    const method = methodOf(descriptor, given.name);
    if (method === undefined) {
      // A class may have other functions beside its handlers.
      if (!given.own) continue;
      const names = descriptor.methods.map(({ name, localName }) => (declared.proto ? name : localName));
      throw new ValueError(
        `the service ${descriptor.typeName} has no method ${given.name}${didYouMean(given.name, names)}; it has ${names.join(", ") || "none"}`,
      );
    }
    if (!struct && given.kind !== undefined && given.kind !== method.methodKind && given.kindGiven) {
      throw new ValueError(
        `the method ${given.name} of ${descriptor.typeName} is ${method.methodKind}, not ${given.kind}`,
      );
    }
    handlers.set(method.name, given);
  }
  return handlers;
}

/** By the name in the definition, or as TypeScript writes it. */
function methodOf(service: DescService, name: string): DescMethod | undefined {
  return service.methods.find((method) => method.name === name || method.localName === name);
}

/** The files of services and all that they import. */
export function filesOf(services: readonly DescService[]): ReadonlyMap<string, DescFile> {
  const files = new Map<string, DescFile>();
  const add = (file: DescFile): void => {
    if (files.has(file.proto.name)) return;
    files.set(file.proto.name, file);
    for (const dependency of file.dependencies) add(dependency);
  };
  for (const { file } of services) add(file);
  return files;
}
