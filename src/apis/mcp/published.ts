import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import type { McpCall } from "./call.js";
import type { DeclaredResource } from "./declared.js";
import type { Params } from "./protocol.js";

/** A call that can be run. `own` is aborted by a cancellation, and finished after it. */
export interface StartedCall {
  readonly own: Request;
  run(): Response | Promise<Response>;
}

/** Something that clients can call, with its description in a list. */
export interface Published {
  readonly name: string;
  readonly listed: object;
  start(outer: Request, given: Params, call: McpCall): StartedCall;
}
export type PublishedTool = Published;

export interface PublishedResource {
  readonly declared: DeclaredResource;
  readonly listed: object;
  readonly complete: Completer | null;
  start(outer: Request, values: readonly string[], call: McpCall): StartedCall;
  /** The guards alone: a subscription needs the rights to read. */
  watch(outer: Request, values: readonly string[], call: McpCall): StartedCall;
}

export interface PublishedPrompt extends Published {
  readonly complete: Completer | null;
}

/** Starts the completion of an argument, behind the guards of what it belongs to. */
export type Completer = (outer: Request, question: Question, call: McpCall) => StartedCall;

export interface Question {
  readonly argument: string;
  readonly value: string;
  readonly known: Readonly<Record<string, string>>;
}
