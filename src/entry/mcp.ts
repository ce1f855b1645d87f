export type {
  ElicitResult,
  McpCall,
  Root,
  SampleRequest,
  SampleResult,
} from "../apis/mcp/call.js";
export { McpConfig, type McpOauthOptions, type McpOptions } from "../apis/mcp/config.js";
export {
  type ContentAnnotations,
  type ContentBlock,
  content,
  type PromptMessage,
  type ToolContent,
} from "../apis/mcp/content.js";
export type {
  Complete,
  McpRequest,
  PromptHandler,
  PromptOptions,
  PromptResult,
  ResourceHandler,
  ResourceOptions,
  ToolAnnotations,
  ToolHandler,
  ToolOptions,
} from "../apis/mcp/declared.js";
export type { McpLevel } from "../apis/mcp/protocol.js";
export type { RouteToolOptions } from "../apis/mcp/route-option.js";
