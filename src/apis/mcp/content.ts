import { Response } from "../../http/response.js";
import { type Answerable, toResponseSymbol } from "../../http/to-response.js";
import { isPlainObject, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

/** Hints for the client: who a block is for, and how important it is. */
export interface ContentAnnotations {
  readonly audience?: readonly ("user" | "assistant")[];
  /** From 0 to 1. */
  readonly priority?: number;
  readonly lastModified?: string;
}

/** A block of the result of a tool, or of a message of a prompt. Bytes are sent as base64. */
export type ContentBlock = { readonly annotations?: ContentAnnotations } & (
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: Uint8Array | string; readonly mimeType: string }
  | { readonly type: "resource_link"; readonly uri: string; readonly name: string; readonly [member: string]: unknown }
  | {
      readonly type: "resource";
      readonly resource: { readonly uri: string; readonly mimeType?: string } & (
        | { readonly text: string }
        | { readonly blob: Uint8Array | string }
      );
    }
);

/** A message of a prompt. */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: string | ContentBlock;
}

/** The type of a response whose body is a part of the protocol, which is sent as it is. */
export const protocolType = "application/vnd.stoa.mcp+json";

/** The result of a tool in blocks: several, or other than text. A string is a block of text. */
export class ToolContent implements Answerable {
  readonly blocks: readonly object[];

  constructor(blocks: readonly (string | ContentBlock)[]) {
    this.blocks = blocks.map(block);
  }

  [toResponseSymbol](): Response {
    return protocolResponse({ content: this.blocks });
  }
}

/** The result of a tool in blocks: `content("a chart", { type: "image", data: png, mimeType: "image/png" })`. */
export function content(...blocks: (string | ContentBlock)[]): ToolContent {
  return new ToolContent(blocks);
}

export function protocolResponse(value: object): Response {
  return new Response(JSON.stringify(value), 200, protocolType);
}

/** A block as the protocol has it. */
export function block(given: string | ContentBlock): object {
  if (typeof given === "string") return { type: "text", text: given };
  if (!isPlainObject(given) || typeof given.type !== "string") {
    throw new ValueError(`a block of content is text, or an object with a type, not ${show(given)}`);
  }
  if (given.type === "image" || given.type === "audio") return { ...given, data: base64(given.data) };
  if (given.type !== "resource" || !("blob" in given.resource)) return given;
  return { ...given, resource: { ...given.resource, blob: base64(given.resource.blob) } };
}

export function base64(data: Uint8Array | string): string {
  return typeof data === "string" ? data : Buffer.from(data.buffer, data.byteOffset, data.length).toString("base64");
}
