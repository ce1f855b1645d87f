import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  FileDescriptorProto,
  MethodDescriptorProtoSchema,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { ValueError } from "../../../kit/value-error.js";
import { create, Edition, FileDescriptorProtoSchema, MethodOptions_IdempotencyLevel } from "../protobuf.js";
import { featuresOf } from "./features.js";
import { type Options, optionStatement } from "./options.js";
import { parseEnum, parseExtend, parseMessage, type TypeScope } from "./parse-types.js";
import { Tokens } from "./tokens.js";

type ServiceInit = MessageInitShape<typeof ServiceDescriptorProtoSchema>;
type MethodInit = MessageInitShape<typeof MethodDescriptorProtoSchema>;

const editions: Readonly<Record<string, Edition>> = { 2023: Edition.EDITION_2023, 2024: Edition.EDITION_2024 };

/**
 * Parses a `.proto` file. Names of types stand as they were written: `resolveNames` makes them whole. Options of other
 * programs, comments and reserved ranges are read and left out.
 */
export function parseProto(name: string, text: string): FileDescriptorProto {
  const tokens = new Tokens(name, text);
  const file = {
    name,
    package: "",
    syntax: "proto2",
    dependency: [] as string[],
    publicDependency: [] as number[],
  };
  const scope: TypeScope = { messageType: [], enumType: [], extension: [] };
  const service: ServiceInit[] = [];
  const options: Options = new Map();
  let edition = Edition.EDITION_PROTO2;
  while (tokens.peek.kind !== "end") {
    if (tokens.skip(";")) continue;
    const word = tokens.name();
    switch (word) {
      case "syntax":
      case "edition": {
        tokens.expect("=");
        const value = tokens.text();
        tokens.expect(";");
        edition = word === "edition" ? editionOf(name, value) : syntaxOf(name, value);
        file.syntax = word === "edition" ? "editions" : value;
        break;
      }
      case "package":
        file.package = tokens.fullName();
        tokens.expect(";");
        break;
      case "import":
        if (tokens.skip("public")) file.publicDependency.push(file.dependency.length);
        else if (!tokens.skip("weak")) tokens.skip("option");
        file.dependency.push(tokens.text());
        tokens.expect(";");
        break;
      case "option":
        optionStatement(tokens, options);
        break;
      case "message":
        scope.messageType.push(parseMessage(tokens, edition));
        break;
      case "enum":
        scope.enumType.push(parseEnum(tokens));
        break;
      case "extend":
        parseExtend(tokens, edition, scope);
        break;
      case "service":
        service.push(parseService(tokens));
        break;
      default:
        throw tokens.error(`'${word}' is unknown here; a message, an enum or a service is expected`);
    }
  }
  const features = featuresOf(options);
  return create(FileDescriptorProtoSchema, {
    ...file,
    ...scope,
    service,
    ...(file.syntax === "editions" && { edition }),
    ...(features && { options: { features } }),
  });
}

function syntaxOf(file: string, value: string): Edition {
  if (value === "proto3") return Edition.EDITION_PROTO3;
  if (value === "proto2") return Edition.EDITION_PROTO2;
  throw new ValueError(`${file}: the syntax ${JSON.stringify(value)} is unknown`);
}

function editionOf(file: string, value: string): Edition {
  const edition = editions[value];
  if (edition === undefined) throw new ValueError(`${file}: the edition ${JSON.stringify(value)} is not supported`);
  return edition;
}

function parseService(tokens: Tokens): ServiceInit {
  const name = tokens.name();
  const method: MethodInit[] = [];
  tokens.expect("{");
  while (!tokens.skip("}")) {
    if (tokens.skip(";")) continue;
    if (tokens.skip("option")) optionStatement(tokens, new Map());
    else {
      tokens.expect("rpc");
      method.push(parseMethod(tokens));
    }
  }
  return { name, method };
}

function parseMethod(tokens: Tokens): MethodInit {
  const name = tokens.name();
  const input = parseUse(tokens);
  tokens.expect("returns");
  const output = parseUse(tokens);
  const options: Options = new Map();
  if (!tokens.skip(";")) {
    tokens.expect("{");
    while (!tokens.skip("}")) {
      if (tokens.skip(";")) continue;
      tokens.expect("option");
      optionStatement(tokens, options);
    }
  }
  const level = options.get("idempotency_level");
  return {
    name,
    inputType: input.type,
    outputType: output.type,
    clientStreaming: input.stream,
    serverStreaming: output.stream,
    ...(typeof level === "string" && {
      options: { idempotencyLevel: MethodOptions_IdempotencyLevel[level as "NO_SIDE_EFFECTS"] },
    }),
  };
}

/** `(stream books.Book)`. */
function parseUse(tokens: Tokens): { type: string; stream: boolean } {
  tokens.expect("(");
  let type = "";
  let stream = false;
  if (tokens.skip("stream")) {
    // A message may have that name.
    if (tokens.sees(")")) type = "stream";
    else stream = true;
  }
  if (type === "") type = tokens.fullName();
  tokens.expect(")");
  return { type, stream };
}
