import { describe, expect, it } from "vitest";
import { DeadlyRoutes } from "../../../src/server/process/deadly-routes.js";

const death = (last: string, ...inFlight: string[]) => ({ last, inFlight });

describe("DeadlyRoutes", () => {
  it("The route that began last before three deaths in a row is named", () => {
    const deadly = new DeadlyRoutes();
    expect([1, 2, 3].map((now) => deadly.add(death("GET /a"), now))).toEqual([null, null, "GET /a"]);
  });

  it("The only route that was in flight at three deaths in a row is named", () => {
    const deadly = new DeadlyRoutes();
    deadly.add(death("GET /a", "POST /x", "GET /b"), 1);
    deadly.add(death("GET /b", "POST /x"), 2);
    expect(deadly.add(death("GET /c", "GET /c", "POST /x"), 3)).toBe("POST /x");
  });

  it("No route is named if it could be one of two", () => {
    const deadly = new DeadlyRoutes();
    for (const last of ["GET /a", "GET /b"]) deadly.add(death(last, "POST /x", "POST /y"), 1);
    expect(deadly.add(death("GET /c", "POST /x", "POST /y"), 2)).toBeNull();
  });

  it("Deaths that are more than a minute apart are not in a row", () => {
    const deadly = new DeadlyRoutes();
    expect([0, 61_000, 122_000].map((now) => deadly.add(death("GET /a"), now))).toEqual([null, null, null]);
  });
});
