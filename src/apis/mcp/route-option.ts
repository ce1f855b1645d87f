import { type OptionsOf, option, options } from "../../kit/config.js";
import { type Check, is, isPlainObject } from "../../kit/options.js";
import type { ToolAnnotations } from "./declared.js";

export const routeToolOptions = options("option 'mcp' of a route", {
  /** The name of the tool. Default: the `operationId` of the route, or one from its method and path. */
  name: option(is.text),
  /** A name for people. Default: the `summary` of the route. */
  title: option(is.text),
  /** What the tool does, for models. Default: the `description` of the route. */
  description: option(is.text),
  /** Hints for clients. Default: by the method; GET reads only. */
  annotations: option<ToolAnnotations>(is.object),
});

export interface RouteToolOptions extends OptionsOf<typeof routeToolOptions.fields> {}

export const isRouteTool: Check = (value) =>
  typeof value === "boolean" || isPlainObject(value) ? undefined : "true, or an object with name and description";
