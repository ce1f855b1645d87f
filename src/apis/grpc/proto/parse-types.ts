import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  DescriptorProtoSchema,
  EnumDescriptorProtoSchema,
  FieldDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { Edition, FieldDescriptorProto_Label, FieldDescriptorProto_Type, FieldOptions_JSType } from "../protobuf.js";
import { featuresOf } from "./features.js";
import { bracketOptions, type Options, optionStatement } from "./options.js";
import type { Tokens } from "./tokens.js";

type MessageInit = MessageInitShape<typeof DescriptorProtoSchema>;
type EnumInit = MessageInitShape<typeof EnumDescriptorProtoSchema>;
export type FieldInit = MessageInitShape<typeof FieldDescriptorProtoSchema>;

/** The place that types and extensions are added to: a file, or a message. */
export interface TypeScope {
  readonly messageType: MessageInit[];
  readonly enumType: EnumInit[];
  readonly extension: FieldInit[];
}

const { OPTIONAL, REQUIRED, REPEATED } = FieldDescriptorProto_Label;
const labels: Readonly<Record<string, FieldDescriptorProto_Label>> = {
  optional: OPTIONAL,
  required: REQUIRED,
  repeated: REPEATED,
};
/** Nested messages below each other. */
const maxDepth = 64;

/** Reads the rest of `message Book { ... }`. */
export function parseMessage(tokens: Tokens, edition: Edition): MessageInit {
  return messageBody(tokens, edition, tokens.name(), 0);
}

function messageBody(tokens: Tokens, edition: Edition, name: string, depth: number): MessageInit {
  if (depth > maxDepth) throw tokens.error("messages are nested too deeply");
  const field: FieldInit[] = [];
  const oneofDecl: { name: string }[] = [];
  const nested: TypeScope = { messageType: [], enumType: [], extension: [] };
  const options: Options = new Map();
  tokens.expect("{");
  while (!tokens.skip("}")) {
    if (tokens.skip(";")) continue;
    const word = tokens.peek.value;
    if (isKeyword(tokens, "message")) nested.messageType.push(messageBody(tokens, edition, tokens.name(), depth + 1));
    else if (isKeyword(tokens, "enum")) nested.enumType.push(parseEnum(tokens));
    else if (isKeyword(tokens, "extend")) parseExtend(tokens, edition, nested);
    else if (isKeyword(tokens, "oneof")) parseOneof(tokens, edition, field, oneofDecl, nested, depth);
    else if (word === "option" && isKeyword(tokens, "option")) optionStatement(tokens, options);
    else if (word === "reserved" || word === "extensions") skipStatement(tokens);
    else field.push(parseField(tokens, edition, nested, depth));
  }
  addSyntheticOneofs(field, oneofDecl, edition);
  const features = featuresOf(options);
  return {
    name,
    field,
    oneofDecl,
    nestedType: nested.messageType,
    enumType: nested.enumType,
    extension: nested.extension,
    ...((options.get("deprecated") === true || features) && {
      options: { deprecated: options.get("deprecated") === true, ...(features && { features }) },
    }),
  };
}

/** Takes a word that begins a definition. Fields may have types of the same names; their names follow a type, not a brace. */
function isKeyword(tokens: Tokens, word: string): boolean {
  return tokens.skip(word);
}

function parseOneof(
  tokens: Tokens,
  edition: Edition,
  field: FieldInit[],
  oneofDecl: { name: string }[],
  nested: TypeScope,
  depth: number,
): void {
  const oneofIndex = oneofDecl.length;
  oneofDecl.push({ name: tokens.name() });
  tokens.expect("{");
  while (!tokens.skip("}")) {
    if (tokens.skip(";")) continue;
    if (tokens.skip("option")) optionStatement(tokens, new Map());
    else field.push({ ...parseField(tokens, edition, nested, depth), oneofIndex });
  }
}

/** Every `optional` field of proto3 is in its own oneof. */
function addSyntheticOneofs(field: FieldInit[], oneofDecl: { name: string }[], edition: Edition): void {
  if (edition !== Edition.EDITION_PROTO3) return;
  for (const [i, item] of field.entries()) {
    if (!item.proto3Optional) continue;
    field[i] = { ...item, oneofIndex: oneofDecl.length };
    oneofDecl.push({ name: `_${item.name}` });
  }
}

function parseField(tokens: Tokens, edition: Edition, nested: TypeScope, depth: number): FieldInit {
  let label: FieldDescriptorProto_Label | undefined;
  const word = tokens.peek.value;
  if (tokens.peek.kind === "name" && word in labels) {
    label = labels[word];
    tokens.take();
  }
  if (tokens.sees("map")) {
    tokens.take();
    if (tokens.sees("<")) return parseMap(tokens, edition, nested);
    return fieldRest(tokens, edition, label, "map");
  }
  if (tokens.sees("group")) return parseGroup(tokens, edition, label, nested, depth);
  return fieldRest(tokens, edition, label, tokens.fullName());
}

function fieldRest(
  tokens: Tokens,
  edition: Edition,
  label: FieldDescriptorProto_Label | undefined,
  type: string,
): FieldInit {
  const name = tokens.name();
  tokens.expect("=");
  const number = tokens.integer();
  const options = bracketOptions(tokens);
  tokens.expect(";");
  const proto3Optional = label === OPTIONAL && edition === Edition.EDITION_PROTO3;
  const given = options.get("default");
  return {
    name,
    number,
    label: label ?? OPTIONAL,
    jsonName: textOption(options, "json_name") ?? jsonNameOf(name),
    ...typeOf(type),
    ...(proto3Optional && { proto3Optional }),
    ...(given !== undefined && { defaultValue: String(given) }),
    ...fieldOptions(options),
  };
}

/** A scalar, or the name of a type that is resolved later. */
function typeOf(type: string): Pick<FieldInit, "type" | "typeName"> {
  const scalar = scalars[type];
  return scalar === undefined ? { typeName: type } : { type: scalar };
}

const scalars: Readonly<Record<string, FieldDescriptorProto_Type>> = Object.fromEntries(
  Object.entries(FieldDescriptorProto_Type)
    .filter(([name, number]) => typeof number === "number" && !["GROUP", "MESSAGE", "ENUM"].includes(name))
    .map(([name, number]) => [name.toLowerCase(), number as FieldDescriptorProto_Type]),
);

function fieldOptions(options: Options): Pick<FieldInit, "options"> {
  const packed = options.get("packed");
  const jstype = options.get("jstype");
  const features = featuresOf(options);
  const made = {
    ...(typeof packed === "boolean" && { packed }),
    ...(options.get("deprecated") === true && { deprecated: true }),
    ...(typeof jstype === "string" && { jstype: FieldOptions_JSType[jstype as "JS_STRING"] }),
    ...(features && { features }),
  };
  return Object.keys(made).length === 0 ? {} : { options: made };
}

/** `map<string, Book> books = 1;` is a list of a nested message with key and value. */
function parseMap(tokens: Tokens, edition: Edition, nested: TypeScope): FieldInit {
  tokens.expect("<");
  const key = tokens.fullName();
  tokens.expect(",");
  const value = tokens.fullName();
  tokens.expect(">");
  const field = fieldRest(tokens, edition, REPEATED, "string");
  const name = `${field.name!.replace(/(?:^|_)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())}Entry`;
  nested.messageType.push({
    name,
    options: { mapEntry: true },
    field: [
      { name: "key", number: 1, label: OPTIONAL, jsonName: "key", ...typeOf(key) },
      { name: "value", number: 2, label: OPTIONAL, jsonName: "value", ...typeOf(value) },
    ],
  });
  return { ...field, label: REPEATED, type: FieldDescriptorProto_Type.MESSAGE, typeName: name };
}

function parseGroup(
  tokens: Tokens,
  edition: Edition,
  label: FieldDescriptorProto_Label | undefined,
  nested: TypeScope,
  depth: number,
): FieldInit {
  tokens.expect("group");
  const name = tokens.name();
  tokens.expect("=");
  const number = tokens.integer();
  bracketOptions(tokens);
  nested.messageType.push(messageBody(tokens, edition, name, depth + 1));
  const lower = name.toLowerCase();
  const { GROUP } = FieldDescriptorProto_Type;
  return { name: lower, number, label: label ?? OPTIONAL, jsonName: lower, type: GROUP, typeName: name };
}

/** Reads the rest of `extend Book { ... }`. */
export function parseExtend(tokens: Tokens, edition: Edition, scope: TypeScope): void {
  const extendee = tokens.fullName();
  tokens.expect("{");
  while (!tokens.skip("}")) {
    if (!tokens.skip(";")) scope.extension.push({ ...parseField(tokens, edition, scope, 0), extendee });
  }
}

/** Reads the rest of `enum Genre { ... }`. */
export function parseEnum(tokens: Tokens): EnumInit {
  const name = tokens.name();
  const value: { name: string; number: number }[] = [];
  const options: Options = new Map();
  tokens.expect("{");
  while (!tokens.skip("}")) {
    if (tokens.skip(";")) continue;
    if (tokens.sees("reserved")) skipStatement(tokens);
    else if (tokens.skip("option")) optionStatement(tokens, options);
    else {
      const item = tokens.name();
      tokens.expect("=");
      value.push({ name: item, number: tokens.integer() });
      bracketOptions(tokens);
      tokens.expect(";");
    }
  }
  const features = featuresOf(options);
  const allowAlias = options.get("allow_alias") === true;
  return {
    name,
    value,
    ...((allowAlias || features) && { options: { ...(allowAlias && { allowAlias }), ...(features && { features }) } }),
  };
}

function skipStatement(tokens: Tokens): void {
  while (!tokens.skip(";")) if (tokens.take().kind === "end") throw tokens.error("';' is expected");
}

function textOption(options: Options, name: string): string | undefined {
  const value = options.get(name);
  return typeof value === "string" ? value : undefined;
}

/** `book_id` is `bookId`. */
function jsonNameOf(name: string): string {
  return name.replace(/_+([A-Za-z0-9]?)/g, (_, letter: string) => letter.toUpperCase());
}
