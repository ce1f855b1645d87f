import { isPlainObject } from "../../kit/options.js";

/** A part of a document. */
export type Node = Readonly<Record<string, unknown>>;

/** Names of the types of shared schemas, by the names of the schemas. */
export type TypeNames = ReadonlyMap<string, string>;

/** One member of an object type. */
export interface Member {
  readonly name: string;
  readonly type: string;
  readonly optional?: boolean;
  readonly comment?: string;
}

/** The longest line, as far as line breaks can help. */
const width = 110;

/** The declaration of a shared schema. */
export function declaration(name: string, schema: unknown, names: TypeNames): string {
  const node = nodeOf(schema);
  const comment = commentOf(node);
  const members = isPlainInterface(node) ? propertiesOf(node, names, "") : undefined;
  if (members !== undefined && members.length > 0) return `${comment}export interface ${name} ${block(members, "")}\n`;
  return `${comment}export type ${name} = ${typeOf(node, names, "")};\n`.replace("= \n", "=\n");
}

/** The TypeScript type of a JSON Schema. `pad` is the indentation of the line that it begins on. */
export function typeOf(schema: unknown, names: TypeNames, pad: string): string {
  if (schema === false) return "never";
  const node = nodeOf(schema);
  const parts: string[] = [];
  const reference = /^#\/components\/schemas\/([^/]+)$/.exec(String(node["$ref"] ?? ""))?.[1];
  if (reference !== undefined) parts.push(names.get(reference) ?? "unknown");
  for (const keyword of ["anyOf", "oneOf"]) {
    const choices = node[keyword];
    if (Array.isArray(choices))
      parts.push(
        union(
          choices.map((choice) => typeOf(choice, names, pad)),
          pad,
        ),
      );
  }
  if (Array.isArray(node["allOf"])) parts.push(...node["allOf"].map((part) => typeOf(part, names, pad)));
  const own = ownType(node, names, pad);
  if (own !== undefined) parts.push(own);
  const known = [...new Set(parts)].filter((part) => part !== "unknown");
  if (known.length === 0)
    return isPlainObject(node["not"]) && Object.keys(node["not"]).length === 0 ? "never" : "unknown";
  return known.length === 1 ? known[0]! : known.map(inParentheses).join(" & ");
}

/** An object type: on one line if it fits and has no comments. */
export function objectType(members: readonly Member[], pad: string): string {
  const line = `{ ${members.map(memberText).join("; ")} }`;
  const isShort = pad.length + line.length <= width && !line.includes("\n") && members.every(({ comment }) => !comment);
  return isShort ? line : block(members, pad);
}

/** An object type with a line for each member. */
export function block(members: readonly Member[], pad: string): string {
  const inner = `${pad}  `;
  const lines = members.map((member) => `${indented(member.comment ?? "", inner)}${inner}${memberText(member)};\n`);
  return `{\n${lines.join("")}${pad}}`;
}

/** A comment of the description of a schema, with its line break; empty without one. */
export function commentOf({ description, deprecated }: Node): string {
  const text = typeof description === "string" ? description.trim() : "";
  const lines = [...(text === "" ? [] : text.split(/\r\n|\r|\n/)), ...(deprecated === true ? ["@deprecated"] : [])];
  if (lines.length === 0) return "";
  const safe = lines.map((line) => line.trimEnd().replaceAll("*/", "*\\/"));
  if (safe.length === 1) return `/** ${safe[0]} */\n`;
  return `/**\n${safe.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

export function nodeOf(value: unknown): Node {
  return isPlainObject(value) ? value : {};
}

/** A union: on one line if it fits. */
export function union(types: readonly string[], pad = ""): string {
  const distinct = [...new Set(types)].filter((type) => type !== "never");
  if (distinct.includes("unknown")) return "unknown";
  const line = distinct.length === 0 ? "never" : distinct.join(" | ");
  if (distinct.length < 2 || pad.length + line.length <= width) return line;
  return distinct.map((type) => `\n${pad}  | ${type}`).join("");
}

function ownType(node: Node, names: TypeNames, pad: string): string | undefined {
  if ("const" in node) return literal(node["const"]);
  if (Array.isArray(node["enum"])) return union(node["enum"].map(literal), pad);
  const types = [node["type"] ?? impliedType(node)].flat().filter((type) => typeof type === "string");
  return types.length === 0 ? undefined : union(types.map((type) => typeOfOne(type, node, names, pad)));
}

function impliedType(node: Node): string | undefined {
  if ("properties" in node || "additionalProperties" in node) return "object";
  return "items" in node || "prefixItems" in node ? "array" : undefined;
}

function typeOfOne(type: string, node: Node, names: TypeNames, pad: string): string {
  switch (type) {
    case "string":
      return node["format"] === "binary" ? "Blob" : "string";
    case "integer":
      return "number";
    case "array":
      return arrayType(node, names, pad);
    case "object":
      return objectType(propertiesOf(node, names, pad), pad).replace(/^\{ {2}\}$/, "{ [name: string]: unknown }");
    case "number":
    case "boolean":
    case "null":
      return type;
    default:
      return "unknown";
  }
}

function arrayType({ items, prefixItems }: Node, names: TypeNames, pad: string): string {
  if (!Array.isArray(prefixItems)) return `${inParentheses(typeOf(items, names, pad))}[]`;
  const first = prefixItems.map((item) => typeOf(item, names, pad));
  const rest = items === false || items === undefined ? [] : [`...${inParentheses(typeOf(items, names, pad))}[]`];
  return `[${[...first, ...rest].join(", ")}]`;
}

function propertiesOf(node: Node, names: TypeNames, pad: string): Member[] {
  const required = new Set(Array.isArray(node["required"]) ? node["required"] : []);
  const members: Member[] = Object.entries(nodeOf(node["properties"])).map(([name, schema]) => ({
    name: key(name),
    type: typeOf(schema, names, `${pad}  `),
    optional: !required.has(name),
    comment: commentOf(nodeOf(schema)),
  }));
  const others = node["additionalProperties"];
  if (others === undefined || others === false) return members;
  // An index signature covers the other members too, so with those it allows any value.
  const type = members.length > 0 ? "unknown" : typeOf(others, names, `${pad}  `);
  return [...members, { name: "[name: string]", type }];
}

function isPlainInterface(node: Node): boolean {
  const composed = ["$ref", "anyOf", "oneOf", "allOf", "const", "enum"].some((keyword) => keyword in node);
  return !composed && (node["type"] ?? impliedType(node)) === "object";
}

function memberText({ name, type, optional }: Member): string {
  return `${name}${optional ? "?" : ""}: ${type}`;
}

/** The name of a member: in quotes unless it is an identifier. */
export function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function literal(value: unknown): string {
  return typeof value === "object" && value !== null ? "unknown" : (JSON.stringify(value) ?? "unknown");
}

/** Around a union, so that it can be the item of a list. */
function inParentheses(type: string): string {
  return / [|&] /.test(type) && !/^\{[^{}]*\}$/.test(type) ? `(${type})` : type;
}

function indented(text: string, pad: string): string {
  return text.replace(/^(?=.)/gm, pad);
}
