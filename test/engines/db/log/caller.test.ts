import { relative } from "node:path";
import { describe, expect, it } from "vitest";
import { callerOf } from "../../../../src/engines/db/log/caller.js";
import { placeOf } from "../../../../src/kit/package-folder.js";

describe("the caller of a statement", () => {
  it.each([
    ["    at handler (file:///app/src/books.ts:12:5)", "/app/src/books.ts:12:5"],
    ["    at async file:///app/my%20shop/books.ts:12:5", "/app/my shop/books.ts:12:5"],
    ["    at /app/books.js:1:2", "/app/books.js:1:2"],
    ["    at async Promise.all (index 0)", null],
    ["    at new Book (/app/books.js:1:2)", "/app/books.js:1:2"],
    [
      "    at processTicksAndRejections (node:internal/process/task_queues:95:5)",
      "node:internal/process/task_queues:95:5",
    ],
    ["    at <anonymous>", null],
    ["Error", null],
  ])("The place in the frame %j is %j", (frame, place) => {
    expect(placeOf(frame)).toBe(place);
  });

  it("The caller is the nearest frame outside of the framework, without its column, and the limit of stacks stays", () => {
    const limit = Error.stackTraceLimit;
    const here = relative(process.cwd(), import.meta.filename ?? "");
    expect(callerOf()).toMatch(new RegExp(`^${here.replaceAll(".", "\\.")}:\\d+$`));
    expect(Error.stackTraceLimit).toBe(limit);
  });
});
