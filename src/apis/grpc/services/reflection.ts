import type { DescFile, DescService } from "@bufbuild/protobuf";
import type { BoundMethod } from "../bound-method.js";
import type { GrpcConfig } from "../config.js";
import { FileDescriptorProtoSchema, toBinary } from "../protobuf.js";
import { GrpcStatus } from "../status.js";
import { builtInFile, builtInMethods } from "./built-in.js";
import { healthDefinition, healthFile } from "./health.js";
import { filesOf } from "./registry.js";

const versions = ["v1", "v1alpha"] as const;

const definitionOf = (version: string): string => `
syntax = "proto3";
package grpc.reflection.${version};
service ServerReflection {
  rpc ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse);
}
message ServerReflectionRequest {
  string host = 1;
  oneof message_request {
    string file_by_filename = 3;
    string file_containing_symbol = 4;
    ExtensionRequest file_containing_extension = 5;
    string all_extension_numbers_of_type = 6;
    string list_services = 7;
  }
}
message ExtensionRequest { string containing_type = 1; int32 extension_number = 2; }
message ServerReflectionResponse {
  string valid_host = 1;
  ServerReflectionRequest original_request = 2;
  oneof message_response {
    FileDescriptorResponse file_descriptor_response = 4;
    ExtensionNumberResponse all_extension_numbers_response = 5;
    ListServiceResponse list_services_response = 6;
    ErrorResponse error_response = 7;
  }
}
message FileDescriptorResponse { repeated bytes file_descriptor_proto = 1; }
message ExtensionNumberResponse { string base_type_name = 1; repeated int32 extension_number = 2; }
message ListServiceResponse { repeated ServiceResponse service = 1; }
message ServiceResponse { string name = 1; }
message ErrorResponse { int32 error_code = 1; string error_message = 2; }
`;

interface ReflectionRequest {
  readonly host: string;
  readonly messageRequest: { readonly case?: string; readonly value?: unknown };
}

/** The reflection service, in both versions that clients use. */
export function reflectionMethods(
  services: readonly DescService[],
  config: GrpcConfig,
  health: boolean,
): BoundMethod[] {
  const named = versions.map(
    (version) => [`grpc/reflection/${version}/reflection.proto`, definitionOf(version)] as const,
  );
  const shipped = [...named, ...(health ? [[healthFile, healthDefinition] as const] : [])];
  const all = [...services, ...shipped.flatMap(([name, text]) => builtInFile(name, text).services)];
  const index = new Index(all);
  return named.flatMap(([name, text]) =>
    builtInMethods(name, text, config, {
      async *ServerReflectionInfo(messages) {
        for await (const message of messages as AsyncIterable<ReflectionRequest>) {
          yield { validHost: message.host, originalRequest: message, messageResponse: index.answer(message) };
        }
      },
    }),
  );
}

/** Finds files by their names and by the names in them. */
class Index {
  readonly #services: readonly string[];
  readonly #files: ReadonlyMap<string, DescFile>;
  readonly #symbols = new Map<string, DescFile>();
  /** Files with extensions of a type, by the number. */
  readonly #extensions = new Map<string, Map<number, DescFile>>();
  readonly #bytes = new Map<DescFile, Uint8Array>();

  constructor(services: readonly DescService[]) {
    this.#services = services.map(({ typeName }) => typeName);
    this.#files = filesOf(services);
    for (const file of this.#files.values()) this.#addFile(file);
  }

  answer({ messageRequest: { case: kind, value } }: ReflectionRequest): object {
    switch (kind) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: this.#services.map((name) => ({ name })) } };
      case "fileByFilename":
        return this.#file(this.#files.get(String(value)));
      case "fileContainingSymbol":
        return this.#file(this.#symbols.get(String(value)));
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = value as { containingType: string; extensionNumber: number };
        return this.#file(this.#extensions.get(containingType)?.get(extensionNumber));
      }
      case "allExtensionNumbersOfType": {
        const baseTypeName = String(value);
        if (!this.#symbols.has(baseTypeName)) return notFound();
        const extensionNumber = [...(this.#extensions.get(baseTypeName)?.keys() ?? [])];
        return { case: "allExtensionNumbersResponse", value: { baseTypeName, extensionNumber } };
      }
      default:
        return failure(GrpcStatus.INVALID_ARGUMENT, "the request asks for nothing");
    }
  }

  /** The file, with those that it imports: clients need not ask for them one by one. */
  #file(file: DescFile | undefined): object {
    if (file === undefined) return notFound();
    const all = new Set<DescFile>();
    const add = (item: DescFile): void => {
      if (all.has(item)) return;
      all.add(item);
      for (const dependency of item.dependencies) add(dependency);
    };
    add(file);
    return {
      case: "fileDescriptorResponse",
      value: { fileDescriptorProto: [...all].map((item) => this.#encoded(item)) },
    };
  }

  #encoded(file: DescFile): Uint8Array {
    let bytes = this.#bytes.get(file);
    if (bytes === undefined) this.#bytes.set(file, (bytes = toBinary(FileDescriptorProtoSchema, file.proto)));
    return bytes;
  }

  #addFile(file: DescFile): void {
    const add = (name: string): void => void this.#symbols.set(name, file);
    const addMessage = (message: DescFile["messages"][number]): void => {
      add(message.typeName);
      for (const field of message.fields) add(`${message.typeName}.${field.name}`);
      for (const oneof of message.oneofs) add(`${message.typeName}.${oneof.name}`);
      for (const item of message.nestedEnums) addEnum(item);
      for (const item of message.nestedMessages) addMessage(item);
      for (const item of message.nestedExtensions) addExtension(item);
    };
    const addEnum = (item: DescFile["enums"][number]): void => {
      add(item.typeName);
      for (const { name } of item.values) add(`${item.typeName}.${name}`);
    };
    const addExtension = (item: DescFile["extensions"][number]): void => {
      add(item.typeName);
      const numbers = this.#extensions.get(item.extendee.typeName) ?? new Map<number, DescFile>();
      this.#extensions.set(item.extendee.typeName, numbers.set(item.number, file));
    };
    for (const item of file.enums) addEnum(item);
    for (const item of file.messages) addMessage(item);
    for (const item of file.extensions) addExtension(item);
    for (const { typeName, methods } of file.services) {
      add(typeName);
      for (const { name } of methods) add(`${typeName}.${name}`);
    }
  }
}

function notFound(): object {
  return failure(GrpcStatus.NOT_FOUND, "not found");
}

function failure(errorCode: number, errorMessage: string): object {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
