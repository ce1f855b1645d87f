import { describe, expect, it } from "vitest";
import { z } from "zod";
import { App } from "../../../src/app/app.js";
import { command, query } from "../../../src/patterns/cqrs/message.js";
import { quiet } from "../events/stores.js";

describe("handlers of messages", () => {
  it("Handlers are registered by a call, or by a decorator with the instance as this", async () => {
    const ship = command("ship", {
      schema: z.object({ id: z.coerce.number() }),
      result: z.object({ shipped: z.number() }),
    });
    const count = query("count", { result: z.number() });
    const app = new App();
    app.logger = quiet;
    app.enableCqrs();
    class Shipping {
      shipped = 0;
      @app.commands.handler(ship)
      async ship({ id }: { id: number }) {
        this.shipped++;
        return { shipped: id };
      }
    }
    const shipping = new Shipping();
    app.queries.handler(count, () => shipping.shipped);
    await app.start();
    const { value } = await app.commands.execute(ship, { id: "7" });
    expect(value.shipped).toBe(7);
    expect((await app.queries.execute(count, undefined)).value).toBe(1);
    await app.stop();
    expect(() => new Shipping()).toThrow('the command "ship" has a handler already');
  });
});
