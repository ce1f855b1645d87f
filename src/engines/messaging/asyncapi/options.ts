import { differentPaths, namedSchemas, plainPath } from "../../../batteries/openapi/options.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../../kit/config.js";
import { type Check, is, isPlainObject } from "../../../kit/options.js";
import { isBrokerName } from "../broker.js";
import { checkTopicName, type Topic } from "../topic.js";
import type { AsyncApiDocument, AsyncApiServer } from "./types.js";

const isTopicList: Check<readonly (Topic<never, unknown> | string)[]> = (value) => {
  const allowed = "a list of topics, or of their names";
  if (!Array.isArray(value)) return allowed;
  try {
    for (const topic of value) checkTopicName(typeof topic === "string" ? topic : topic?.name);
    return undefined;
  } catch {
    return allowed;
  }
};

const isServers: Check<Readonly<Record<string, AsyncApiServer>>> = (value) => {
  const isServer = ([name, server]: [string, unknown]) =>
    isBrokerName(name) === undefined && isPlainObject(server) && typeof server["host"] === "string";
  return isPlainObject(value) && Object.entries(value).every(isServer)
    ? undefined
    : "an object of servers, { host, protocol, description }, by the names of brokers";
};

export const asyncapiOptions = options(
  "enableAsyncapi()",
  {
    /** The title of the document. Default "Messages". */
    title: option(is.text, "Messages"),
    /** The version of the messages. Default "1.0.0". */
    version: option(is.text, "1.0.0"),
    /** The description, in Markdown. */
    description: option(is.string),
    /** Topics that the application publishes. Those of its handlers are known. */
    publishes: option(isTopicList, []),
    /** Addresses of the brokers, by their names. Default none. */
    servers: option(isServers, {}),
    /** Names of schemas: each is shared under its name wherever it is used. */
    schemas: option(namedSchemas, {}),
    /** Path of the document. Default "/asyncapi.json". */
    asyncapiPath: option(plainPath, "/asyncapi.json"),
    /** Path of the page; false for none. Default "/asyncapi". */
    docsPath: option(is.either(plainPath, is.oneOf(false)), "/asyncapi"),
    /** Changes the finished document, or returns another. */
    transform: option<(document: AsyncApiDocument) => AsyncApiDocument | void>(is.function),
  },
  {
    order: ["title", "version"],
    refine: ({ asyncapiPath, docsPath }) => differentPaths("enableAsyncapi()", asyncapiPath, docsPath),
  },
);

export interface AsyncapiOptions extends OptionsOf<typeof asyncapiOptions.fields> {}
export type AsyncapiSettings = SettingsOf<typeof asyncapiOptions.fields>;
