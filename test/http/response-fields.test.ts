import { describe, expect, it } from "vitest";
import { addVary, fieldOf, setField, setMissingField } from "../../src/http/fields/response-fields.js";
import { Response } from "../../src/http/response.js";

function withFields(...fields: string[]): Response {
  const response = new Response(null);
  response.fields = fields.length > 0 ? fields : null;
  return response;
}

describe("fields of a response", () => {
  it("Fields of a response are found by names in any case", () => {
    const response = withFields("x-a", "1", "X-B", "2");
    expect([fieldOf(response, "X-A"), fieldOf(response, "x-b"), fieldOf(response, "X-C")]).toEqual([
      "1",
      "2",
      undefined,
    ]);
    expect(fieldOf(withFields(), "X-A")).toBeUndefined();
  });

  it("A field that is set replaces all fields of that name", () => {
    const response = withFields("x-a", "1", "X-B", "2", "X-A", "3", "x-A", "4");
    setField(response, "X-A", "5");
    expect(response.fields).toEqual(["x-a", "5", "X-B", "2"]);
    setField(response, "X-C", "6");
    expect(response.fields).toEqual(["x-a", "5", "X-B", "2", "X-C", "6"]);
    const empty = withFields();
    setField(empty, "X-A", "1");
    expect(empty.fields).toEqual(["X-A", "1"]);
  });

  it("A field that is set only if missing leaves an existing one unchanged", () => {
    const response = withFields("x-a", "1");
    setMissingField(response, "X-A", "2");
    setMissingField(response, "X-B", "2");
    expect(response.fields).toEqual(["x-a", "1", "X-B", "2"]);
  });
});

describe("Vary", () => {
  it.each([
    [[], ["Vary", "Origin"]],
    [
      ["X-A", "1"],
      ["X-A", "1", "Vary", "Origin"],
    ],
    [
      ["vary", "Accept"],
      ["vary", "Accept, Origin"],
    ],
    [
      ["Vary", ""],
      ["Vary", "Origin"],
    ],
    [
      ["Vary", "Origin"],
      ["Vary", "Origin"],
    ],
    [
      ["Vary", "accept,  oRIGIN ,x"],
      ["Vary", "accept,  oRIGIN ,x"],
    ],
    [
      ["Vary", "*"],
      ["Vary", "*"],
    ],
    [
      ["Vary", "X-Origin"],
      ["Vary", "X-Origin, Origin"],
    ],
    [
      ["Vary", "Origin", "Vary", "Accept"],
      ["Vary", "Origin", "Vary", "Accept"],
    ],
  ])("Vary is added to the fields %j, which become %j", (before, after) => {
    const response = withFields(...before);
    addVary(response, "Origin");
    addVary(response, "Origin");
    expect(response.fields).toEqual(after);
  });
});
