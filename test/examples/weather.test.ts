import { afterEach, describe, expect, it, vi } from "vitest";
import { weatherApp } from "../../examples/weather/app.js";

afterEach(() => void vi.restoreAllMocks());

describe("the weather service", () => {
  it("The weather service calls its source once, forgets on demand, and continues while the source is away", async () => {
    // The clock alone: an application that another file has left may use what else there is.
    let now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now);
    let asked = 0;
    let away = false;
    const app = weatherApp(async (city) => {
      asked++;
      if (away) throw new Error("away");
      return { city, celsius: asked };
    });
    app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
    const ask = async (city: string): Promise<[number, string | null]> => {
      const response = await app.request(`/forecast/${city}`);
      return [response.status, response.headers.get("x-cache")];
    };
    expect(await Promise.all([ask("athens"), ask("athens")])).toEqual([
      [200, "MISS"],
      [200, "HIT"],
    ]);
    const refresh = (operator: string): Promise<Response> =>
      app.request("/refresh", { method: "POST", headers: { "x-operator": operator } });
    expect(await (await refresh("let me in")).json()).toEqual({ forgotten: 1 });
    expect(await ask("athens")).toEqual([200, "MISS"]);
    away = true;
    now += 601_000;
    expect(await ask("athens")).toEqual([200, "STALE"]);
    expect([await ask("berlin"), await ask("berlin"), await ask("berlin")].map(([status]) => status)).toEqual([
      502, 502, 503,
    ]);
    expect(asked).toBe(5);
    expect(await ask("athens")).toEqual([200, "STALE"]);
    expect(await (await app.request("/circuits")).json()).toMatchObject([
      { route: "GET /forecast/{city}", state: "open" },
      { route: "POST /refresh", state: "closed" },
    ]);
    for (let i = 0; i < 5; i++) expect((await refresh("guess")).status).toBe(403);
    expect((await refresh("guess")).status).toBe(429);
  });
});
