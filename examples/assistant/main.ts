import { assistantApp } from "./app.js";

const { url } = await assistantApp({ "desk-key": "desk", "guest-key": "guest" }).run();

if (process.stdout.isTTY) {
  console.log(`Point a client of MCP at it, such as:

  claude mcp add --transport http library ${url}/mcp --header "X-API-Key: desk-key"
  npx @modelcontextprotocol/inspector --cli ${url}/mcp --transport http --header "X-API-Key: guest-key" --method tools/list
`);
}
