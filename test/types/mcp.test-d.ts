import { App, Depends, type Request } from "stoa";
import type { McpCall } from "stoa/mcp";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

const app = new App();

describe("tools, resources and prompts", () => {
  it("A tool knows its input, its dependencies, its result and its call", () => {
    const input = z.object({ a: z.number(), b: z.string().default("x") });
    const output = z.object({ sum: z.number() });
    const inject = { rate: Depends<number>("rate") };
    const same = app.tool("add", { input, output, inject, timeout: "5s" }, (request, injected) => {
      expectTypeOf(injected.input).toEqualTypeOf<{ a: number; b: string }>();
      expectTypeOf(injected.rate).toEqualTypeOf<number>();
      expectTypeOf(request.mcp).toEqualTypeOf<McpCall>();
      expectTypeOf(request).toExtend<Request>();
      expectTypeOf(request.signal).toEqualTypeOf<AbortSignal>();
      return { sum: 1 };
    });
    expectTypeOf(same).toEqualTypeOf<App>();
    // @ts-expect-error the result does not fit the output
    app.tool("add", { output }, () => ({ sum: "1" }));
    // @ts-expect-error there is no such option
    app.tool("add", { inputs: input }, () => "x");
    // @ts-expect-error there is no input
    app.tool("add", {}, (_, { input }) => input);
  });

  it("A resource knows the variables of its URI", () => {
    app.resource("files://{host}/{+path}", {}, ({ params }) => {
      expectTypeOf(params).toEqualTypeOf<{ readonly host: string; readonly path: string }>();
    });
  });

  it("A prompt returns text or messages", () => {
    app.prompt("hello", { input: z.object({ name: z.string() }) }, (_, { input }) => `hello ${input.name}`);
    app.prompt("hello", {}, async () => [{ role: "user", content: { type: "text", text: "hello" } }]);
    // @ts-expect-error a prompt returns text or messages
    app.prompt("hello", {}, () => 5);
  });

  it("A route that can be a tool may be called without one", () => {
    app.get("/x", { mcp: { name: "x" } }, (request) => {
      expectTypeOf(request.mcp).toEqualTypeOf<McpCall | null>();
    });
    // @ts-expect-error there is no such option
    app.get("/x", { mcp: { names: "x" } }, () => "x");
  });
});
