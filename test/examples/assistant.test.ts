import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { assistantApp } from "../../examples/assistant/app.js";
import { clientOf, textOf } from "../apis/mcp/support.js";

describe("the assistant example", () => {
  it("The assistant example lends books to the desk only, and tells the model what went wrong", async () => {
    await using server = await serve(assistantApp({ d: "desk", g: "guest" }));
    const { connect, post } = clientOf(`${server.url}/mcp`);
    expect((await post({ jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(401);
    const desk = await connect({ "x-api-key": "d" });
    const { tools } = await desk.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(["lend_book", "list_books"]);
    expect(textOf(await desk.callTool({ name: "list_books" }))).toContain('"title":"Ulysses"');

    const lend = (id: string, client = desk) => client.callTool({ name: "lend_book", arguments: { id } });
    expect((await lend("emma")).structuredContent).toEqual({ id: "emma", left: 1 });
    await lend("emma");
    expect(textOf(await lend("emma"))).toContain("All copies of Emma are lent.");
    expect(textOf(await lend("emam"))).toContain("There is no book 'emam'.");
    const { contents } = await desk.readResource({ uri: "book://emma" });
    expect(contents[0]).toMatchObject({ text: expect.stringContaining('"copies":0') });

    const guest = await connect({ "x-api-key": "g" });
    expect((await lend("ulysses", guest)).isError).toBe(true);
    const { messages } = await guest.getPrompt({ name: "recommend", arguments: { mood: "tired" } });
    expect(messages[0]?.content).toMatchObject({ text: expect.stringContaining("tired") });
  });
});
