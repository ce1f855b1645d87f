import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Program, patient } from "../../server/process/program.js";
import { call, clientOf, eventsOf, request, textOf } from "./support.js";

describe("several workers", patient, () => {
  it("A session, its answers, cancellations and streams work on every worker", async () => {
    const program = new Program({ file: fileURLToPath(new URL("./fixtures/program.ts", import.meta.url)) });
    const { post, session, url } = clientOf(new URL("/mcp", await program.url()).href);
    const own = { "Mcp-Session-Id": await session(), Connection: "close" };
    const pids = new Set<string>();
    for (let i = 0; i < 200 && pids.size < 2; i++) {
      const { result } = (await (await post(call("pid"), own)).json()) as { result: unknown };
      pids.add(textOf(result));
    }
    expect(pids.size).toBe(2);

    // Answers come on other connections than questions, so some of them reach the other worker.
    for (let id = 0; id < 10; id++) {
      for await (const { data } of eventsOf(await post(call("ask", {}, id), own))) {
        if (data === "") continue;
        const message = JSON.parse(data) as { id: unknown; method?: string; result?: unknown };
        if (message.method === undefined) expect(textOf(message.result)).toMatch(/^\d+ mine$/);
        else
          await post({ jsonrpc: "2.0", id: message.id, result: { action: "accept", content: { pid: "mine" } } }, own);
      }
    }

    await post(request("resources/subscribe", { uri: "state://aborted" }), own);
    const stream = eventsOf(await fetch(url, { headers: { ...own, Accept: "text/event-stream" } }));
    for (let id = 100; id < 105; id++) {
      const waiting = eventsOf(await post(call("wait", {}, id), own));
      await waiting.next();
      await waiting.next();
      await post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } }, own);
      expect((await waiting.next()).done).toBe(true);
      expect(JSON.parse((await stream.next()).value!.data)).toMatchObject({ params: { uri: "state://aborted" } });
    }

    for (let id = 200; id < 205; id++) {
      const closed = eventsOf(await post(call("close", {}, id), own));
      const { id: last } = (await closed.next()).value!;
      expect((await closed.next()).done).toBe(true);
      const headers = { ...own, Accept: "text/event-stream", "Last-Event-ID": last };
      const rest = await eventsOf(await fetch(url, { headers })).next();
      expect(JSON.parse(rest.value!.data)).toMatchObject({ id, result: { content: [{ text: "came back" }] } });
    }
    await stream.return(undefined);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });
});
