import { And, App, type Guard } from "stoa";
import { describe, it } from "vitest";

describe("a guard", () => {
  it("A guard returns a boolean or a message, now or later", () => {
    const guards: Guard[] = [
      () => true,
      () => "no",
      async () => false,
      { check: () => true },
      { check: async () => "no" },
    ];
    new App().addGuard(And(...guards)).get("/", { guards }, () => "in");
  });

  it("A guard that returns nothing does not compile", () => {
    const app = new App();
    // @ts-expect-error nothing is returned
    app.get("/a", { guards: [() => {}] }, () => "in");
    // @ts-expect-error nothing is returned
    app.get("/b", { guards: [async () => {}] }, () => "in");
    // @ts-expect-error undefined is returned on one of two ways
    app.get("/c", { guards: [(request) => (request.method === "GET" ? true : undefined)] }, () => "in");
    // @ts-expect-error nothing is returned
    app.addGuard({ check() {} });
    // @ts-expect-error nothing is returned
    And(() => {});
  });
});
