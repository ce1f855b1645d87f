import { App, Blueprint } from "stoa";
import { expect, it } from "vitest";

it("Standard decorators register methods of a class, bound to their instance", async () => {
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

it("Decorated hooks and exception handlers are bound to their instance", async () => {
  const app = new App();
  class Broken extends Error {}
  class Service {
    state = "new";
    @app.onEvent("startup")
    open() {
      this.state = "open";
    }
    @app.on_event("shutdown")
    close() {
      this.state = "closed";
    }
    @app.exceptionHandler(Broken)
    explain() {
      return { state: this.state };
    }
    @app.get("/")
    fail(): never {
      throw new Broken();
    }
  }
  const service = new Service();
  expect(await (await app.request("/")).json()).toEqual({ state: "open" });
  await app.stop();
  expect(service.state).toBe("closed");
});

it("A class with decorated methods that was never instantiated is mentioned at the start", async () => {
  const warnings: string[] = [];
  const app = new App();
  const nothing = () => {};
  const warn = (message: string) => void warnings.push(message);
  const logger = { debug: nothing, info: nothing, warn, error: nothing, child: () => logger };
  app.logger = logger;
  const pages = new Blueprint("/pages");
  app.registerBlueprint(pages);
  class Books {
    @app.get("/books")
    list() {
      return [];
    }
    @pages.get("/about")
    about() {
      return "";
    }
  }
  class Made {
    @app.get("/made")
    list() {
      return [];
    }
  }
  new Made();
  await app.start();
  expect(warnings).toEqual([
    "list() for GET /books is decorated but not registered: create an instance of its class before the start",
    "about() for GET /about is decorated but not registered: create an instance of its class before the start",
  ]);
  expect(Books.name).toBe("Books");
});
