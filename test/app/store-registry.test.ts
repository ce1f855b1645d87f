import { expect, it } from "vitest";
import { StoreRegistry } from "../../src/app/store-registry.js";

it("The store of the user's options takes precedence over a shared one, and a shared one over a local one", () => {
  const registry = new StoreRegistry();
  const [given, shared, local] = ["given", "shared", "local"].map((name) => ({ name }) as never);
  const request = { holds: "sessions", local: () => local! };
  expect(registry.store("sessions", request)).toBe(local);
  registry.share("sessions", shared!);
  expect(registry.store("sessions", request)).toBe(shared);
  expect(registry.store("sessions", { ...request, given: given! })).toBe(given);
  expect(registry.store("sessions", { ...request, given: null })).toBe(shared);
});
