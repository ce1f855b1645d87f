import { App } from "stoa";
import { expect, it } from "vitest";

it("takes methods of a class by standard decorators, bound to their instance", async () => {
  const app = new App();
  class Books {
    constructor(readonly shelf: string) {}
    @app.get("/shelf")
    name() {
      return this.shelf;
    }
    @app.get("/static")
    static about() {
      return "about";
    }
  }
  new Books("top");
  expect(await (await app.request("/shelf")).text()).toBe("top");
  expect(await (await app.request("/static")).text()).toBe("about");
});
