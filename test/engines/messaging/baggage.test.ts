import { expect, it, vi } from "vitest";
import { traced } from "../../batteries/telemetry/traced.js";

it("The baggage of a message does not reach the handler of the next one", async () => {
  const seen: unknown[] = [];
  const { app } = await traced((own) => {
    own.enableMemoryBroker();
    own.onMessage("orders", { group: "g", concurrency: 1 }, async ({ id }) => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      seen.push([id, { ...own.tracer.baggage }]);
    });
  });
  const publish = (id: string, headers: Record<string, string>) => app.publish("orders", 1, { id, headers });
  await Promise.all([
    publish("a", { baggage: "tenant=alice" }),
    publish("b", { baggage: "tenant=bob" }),
    publish("c", {}),
    publish("d", { baggage: "tenant=dora" }),
  ]);
  await vi.waitFor(() => expect(seen).toHaveLength(4), { timeout: 5000 });
  expect(seen).toEqual([
    ["a", { tenant: "alice" }],
    ["b", { tenant: "bob" }],
    ["c", {}],
    ["d", { tenant: "dora" }],
  ]);
});
