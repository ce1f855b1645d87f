import { isInject, type Provided } from "../../di/depends.js";
import type { Request } from "../../http/request.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { type Check, is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { Handler, InjectedBy, PathParams } from "../../routing/handler.js";
import { isGuardOption } from "../../routing/options.js";
import {
  type BodyValidator,
  type DescribedSchema,
  isBodyValidator,
  isDescribed,
} from "../../validation/body-validator.js";
import { isStandardSchema, type StandardSchema } from "../../validation/standard-schema.js";
import type { McpCall } from "./call.js";
import type { PromptMessage } from "./content.js";
import { type UriTemplate, uriTemplate } from "./uri-template.js";

/** Hints for clients on what a tool does. They prove nothing. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** Suggests values for an argument, from what the user has typed and the arguments that are known already. */
export type Complete = (
  value: string,
  known: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>;

const commonFields = {
  /** A name for people. */
  title: option(is.text),
  /** What it is, for models: the more exact, the better it is used. */
  description: option(is.text),
  /** Guards that must all pass before the handler runs. */
  guards: option(is.list(isGuardOption)),
  /** Dependencies to inject, by the names that the handler uses. */
  inject: option(isInject),
  /** Time after which the call ends with an error; 0 for no limit. Default: the `requestTimeout` of the server. */
  timeout: option.duration(null, 0, "24d"),
};

/** What each place accepts of these is checked at the start. */
const isSchema: Check<never> = (value) =>
  isStandardSchema(value) || isBodyValidator(value) || isDescribed(value)
    ? undefined
    : "a schema (zod, valibot, arktype ...)";

const toolOptions = options("tool()", {
  ...commonFields,
  /** Schema of the arguments, an object. The result is injected as `input`. */
  input: option<StandardSchema | BodyValidator>(isSchema),
  /** Schema of the result, an object: the result is checked, and sent as structured content too. */
  output: option<StandardSchema | DescribedSchema>(isSchema),
  /** Hints for clients, such as `{ readOnlyHint: true }`. */
  annotations: option<ToolAnnotations>(is.object),
});

const resourceOptions = options("resource()", {
  ...commonFields,
  /** The short name. Default: the last part of the URI that has no variable. */
  name: option(is.text),
  /** The type of the content. Default: by the result of the handler. */
  mimeType: option(is.text),
  /** Suggests values for the variables of a template, by name. */
  complete: option<Readonly<Record<string, Complete>>>(is.object),
});

const promptOptions = options("prompt()", {
  ...commonFields,
  /** Schema of the arguments, an object of texts; text is converted as in a query. The result is injected as `input`. */
  input: option<StandardSchema>(isSchema),
  /** Suggests values for the arguments, by name. */
  complete: option<Readonly<Record<string, Complete>>>(is.object),
});

// Interfaces, because messages of the compiler show their names and not all of their members.
export interface ToolOptions extends OptionsOf<typeof toolOptions.fields> {}
export interface ResourceOptions extends OptionsOf<typeof resourceOptions.fields> {
  readonly mime_type?: string | undefined;
}
export interface PromptOptions extends OptionsOf<typeof promptOptions.fields> {}

/** The request of a handler of MCP. */
export type McpRequest<Params extends object = Record<string, string>> = Request<Params> & {
  readonly mcp: McpCall;
};

type InputOf<Options> = Options extends { readonly input: infer S }
  ? { input: InjectedBy<{ body: S }>["body"] }
  : unknown;
type InjectedOf<Options> = InputOf<Options> & (Options extends { readonly inject: infer I } ? Provided<I> : unknown);
type ResultOf<Options> = Options extends { readonly output: infer S extends StandardSchema }
  ? ReturnType<Handler<string, { readonly response: S }>>
  : unknown;

export type ToolHandler<Options = unknown> = (request: McpRequest, injected: InjectedOf<Options>) => ResultOf<Options>;
export type ResourceHandler<Uri extends string = string, Options = unknown> = (
  request: McpRequest<PathParams<PlainNames<Uri>>>,
  injected: InjectedOf<Options>,
) => unknown;
export type PromptHandler<Options = unknown> = (
  request: McpRequest,
  injected: InjectedOf<Options>,
) => PromptResult | Promise<PromptResult>;
export type PromptResult = string | readonly PromptMessage[];

/** `{+path}` is `{path}` for the compiler. */
type PlainNames<Uri extends string> = Uri extends `${infer Head}{+${infer Tail}` ? PlainNames<`${Head}{${Tail}`> : Uri;

type AnyHandler = (request: Request, injected: Record<string, unknown>) => unknown;

export interface DeclaredTool extends SettingsOf<typeof toolOptions.fields> {
  readonly name: string;
  readonly handler: AnyHandler;
}
export interface DeclaredResource extends SettingsOf<typeof resourceOptions.fields> {
  readonly uri: string;
  readonly name: string;
  /** Null for a resource without variables. */
  readonly template: UriTemplate | null;
  readonly handler: AnyHandler;
}
export interface DeclaredPrompt extends SettingsOf<typeof promptOptions.fields> {
  readonly name: string;
  readonly handler: AnyHandler;
}

export function readTool([name, given, handler]: readonly unknown[]): DeclaredTool {
  const owner = `the tool ${checkedName(name, "tool")}`;
  return { ...toolOptions.read([given], owner), name: name as string, handler: checkedHandler(handler, owner) };
}

export function readResource([uri, given, handler]: readonly unknown[]): DeclaredResource {
  if (typeof uri !== "string" || !/^[A-Za-z][A-Za-z0-9+.-]*:\S+$/.test(uri)) {
    throw new ValueError(`resource() takes a URI such as "notes://today" or "notes://{day}", not ${show(uri)}`);
  }
  const owner = `the resource ${uri}`;
  const settings = resourceOptions.read([given], owner);
  const name = settings.name ?? uri.split(/[/:]/).findLast((part) => part !== "" && !part.includes("{")) ?? uri;
  return { ...settings, uri, name, template: uriTemplate(uri), handler: checkedHandler(handler, owner) };
}

export function readPrompt([name, given, handler]: readonly unknown[]): DeclaredPrompt {
  const owner = `the prompt ${checkedName(name, "prompt")}`;
  return { ...promptOptions.read([given], owner), name: name as string, handler: checkedHandler(handler, owner) };
}

/** The names that the protocol allows for tools. */
export function checkedName(name: unknown, kind: string): string {
  if (typeof name === "string" && /^[A-Za-z0-9_.-]{1,128}$/.test(name)) return name;
  throw new ValueError(
    `the name of a ${kind} has 1 to 128 letters, digits, dots, dashes and underscores; ${show(name)} does not`,
  );
}

function checkedHandler(handler: unknown, owner: string): AnyHandler {
  if (typeof handler === "function") return handler as AnyHandler;
  throw new ValueError(`${owner} takes options and a handler, not ${show(handler)}`);
}
