import { describe, expect, it } from "vitest";
import { HttpError, httpError } from "../../../src/errors/http-error.js";
import { problemBody, problemResponse } from "../../../src/errors/pages/problem.js";

describe("problem details", () => {
  it("Problem details contain the type, the title, the status and the detail of an error", () => {
    expect(JSON.parse(problemBody(httpError("NOT_FOUND")))).toEqual({
      type: "/errors/not-found",
      title: "Not Found",
      status: 404,
      detail: "There is nothing at this address.",
      error: "Not Found",
    });
  });

  it("Problem details contain the error's own title, members and headers", () => {
    const error = new HttpError(429, "slow down", {
      title: "Easy",
      extensions: { retry_after: 3 },
      headers: { "Retry-After": "3" },
    });
    const response = problemResponse(error);
    expect(JSON.parse(response.body as string)).toMatchObject({ title: "Easy", error: "Easy", retry_after: 3 });
    expect(response.status).toBe(429);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(response.headers.get("retry-after")).toBe("3");
  });

  it("The exact body of an error replaces the problem details", () => {
    const response = problemResponse(new HttpError(401, "x", { body: { error: "Unauthorized", status: 401 } }));
    expect(response.body).toBe('{"error":"Unauthorized","status":401}');
    expect(response.headers.get("content-type")).toBe("application/json");
  });
});
