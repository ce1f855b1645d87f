import type { OpenApiDocument } from "../../batteries/openapi/types.js";
import { unicodeEscape } from "../../logging/escape.js";
import { OperationTypes } from "./operations.js";
import { runtime } from "./runtime.js";
import { declaration, nodeOf, type TypeNames } from "./schema-types.js";

/** The TypeScript file of a client: the types of an application, then the code that is the same for all. */
export function clientFile(document: OpenApiDocument): string {
  const schemas = nodeOf(document.components?.["schemas"]);
  const names = typeNames(Object.keys(schemas));
  const types = new OperationTypes(document, names);
  const declarations = [...names].map(([name, typeName]) => declaration(typeName, schemas[name], names));
  const operations = types.operations();
  const parts = [
    `/* eslint-disable */\n// Written by \`stoa client\`. Do not edit it: write it again.\n`,
    ...declarations,
    `/** The operations of the application, by path and method. */\nexport interface Operations ${operations}\n`,
    `/** The WebSockets of the application, by path. */\nexport interface Sockets ${types.sockets()}\n`,
    `/** Event streams whose data is JSON; that of others is text. */\nconst jsonStreams: readonly string[] = ${JSON.stringify(types.jsonStreams)};\n`,
    runtime,
  ];
  // Whatever reads the file, and in whatever encoding, reads the same.
  return parts.join("\n").replace(/[^\n\x20-\x7e]/g, unicodeEscape);
}

/** Types have the names of their schemas, sorted. A name that means something else in the file gets a `_`. */
function typeNames(names: readonly string[]): TypeNames {
  const taken = new Set([...runtime.matchAll(/[A-Za-z_$][\w$]*/g)].map(([word]) => word));
  for (const word of reserved.split(" ")) taken.add(word);
  const result = new Map<string, string>();
  for (const name of [...names].sort()) {
    let typeName = name.replace(/\W/g, "_").replace(/^(?=\d)/, "_");
    while (taken.has(typeName)) typeName += "_";
    taken.add(typeName);
    result.set(name, typeName);
  }
  return result;
}

/** Words of the language, and names in the part of the file before the runtime. */
const reserved =
  "any bigint boolean never null number object string symbol undefined unknown void break case catch class const continue debugger " +
  "default delete do else enum export extends false finally for function if import in instanceof new return super switch this throw " +
  "true try typeof var while with implements interface let package private protected public static yield AsyncIterable Blob " +
  "Operations Sockets jsonStreams";
