import type { DescFile } from "@bufbuild/protobuf";
import type { BoundMethod } from "../bound-method.js";
import { codecOf } from "../codec/codecs.js";
import type { GrpcConfig } from "../config.js";
import { loadNamed } from "../proto/load.js";
import { limitsOf } from "./bind.js";

type Handlers = Readonly<Record<string, BoundMethod["handler"]>>;

const files = new Map<string, DescFile>();

/** The file of a service that comes with the server. */
export function builtInFile(name: string, definition: string): DescFile {
  let file = files.get(name);
  if (file === undefined) files.set(name, (file = loadNamed(name, definition)));
  return file;
}

/** Bytes of a request to such a service. Health needs no authentication: its requests must not fill the memory. */
const largestRequest = 16_384;

/** The methods of a service that comes with the server. */
export function builtInMethods(
  name: string,
  definition: string,
  config: GrpcConfig,
  handlers: Handlers,
): BoundMethod[] {
  return builtInFile(name, definition).services.flatMap((service) =>
    service.methods.map((method) => ({
      service: service.typeName,
      name: method.name,
      kind: method.methodKind,
      path: `/${service.typeName}/${method.name}`,
      input: codecOf(method.input),
      output: codecOf(method.output),
      ...limitsOf(config, Math.min(config.maxMessageSize, largestRequest)),
      idempotent: false,
      handler: handlers[method.name]!,
    })),
  );
}
