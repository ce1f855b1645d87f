import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { compiled } from "../support/compiled.js";
import { makeFolder, runCommand } from "./run-command.js";

const application = `
export const app = new App();
app.enableMcp();
app.tool("whoami", {}, (request) => request.headers.get("x-user"));
app.tool("ask", {}, async ({ mcp }) => {
  const schema = { type: "object", properties: { name: { type: "string" } } };
  return "hello " + (await mcp.elicit("Your name?", schema)).content.name;
});
app.tool("close", {}, async ({ mcp }) => {
  mcp.closeStream();
  await new Promise((resolve) => setTimeout(resolve, 50));
  return "back";
});
app.tool("change", {}, () => {
  console.log("a line of the tool");
  app.mcp.updated("state://it");
});
app.resource("state://it", {}, () => "it");
`;

it("The official client uses the application over stdio", async () => {
  const folder = await makeFolder({ "app.mjs": application });
  const program = compiled(fileURLToPath(new URL("./fixtures/mcp.ts", import.meta.url)));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, "mcp", "--app", join(folder, "app.mjs"), "--header", "X-User: ada"],
    stderr: "pipe",
  });
  let noise = "";
  transport.stderr!.on("data", (piece) => (noise += piece));
  const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
  const updated: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
  await client.connect(transport);
  onTestFinished(() => client.close());
  const call = async (name: string) => (await client.callTool({ name })).content;
  expect(await call("whoami")).toEqual([{ type: "text", text: "ada" }]);
  expect(await call("ask")).toEqual([{ type: "text", text: "hello Ada" }]);
  expect(await call("close")).toEqual([{ type: "text", text: "back" }]);
  await client.subscribeResource({ uri: "state://it" });
  await expect.poll(() => call("change").then(() => updated[0])).toBe("state://it");
  await expect.poll(() => noise).toContain("a line of the tool");
});

it("An application without MCP and a malformed header are refused", async () => {
  const folder = await makeFolder({
    "plain.mjs": "export const app = new App();",
    "ai.mjs": "export const app = new App(); app.enableMcp();",
  });
  const plain = await runCommand(folder, "mcp", "--app", "plain.mjs");
  expect(plain).toMatchObject({ code: 1, err: expect.stringContaining("the application does not call enableMcp()") });
  const wrong = await runCommand(folder, "mcp", "--app", "ai.mjs", "--header", "nonsense");
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('--header takes "Name: value"') });
});
