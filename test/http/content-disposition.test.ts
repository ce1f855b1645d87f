import { describe, expect, it } from "vitest";
import { contentDisposition } from "../../src/http/fields/content-disposition.js";
import { checkHeader } from "../../src/http/fields/headers.js";
import fc from "../support/properties.js";

describe("Content-Disposition", () => {
  it.each([
    ["report.pdf", 'attachment; filename="report.pdf"'],
    ["my report (1).pdf", 'attachment; filename="my report (1).pdf"'],
    ["naïve.txt", "attachment; filename=\"na_ve.txt\"; filename*=UTF-8''na%C3%AFve.txt"],
    ["日本.txt", "attachment; filename=\"__.txt\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt"],
    ["😀.txt", "attachment; filename=\"_.txt\"; filename*=UTF-8''%F0%9F%98%80.txt"],
    ['a"b.txt', "attachment; filename=\"a_b.txt\"; filename*=UTF-8''a%22b.txt"],
    ["100%41.txt", "attachment; filename=\"100_41.txt\"; filename*=UTF-8''100%2541.txt"],
    ["é'(x)*.txt", "attachment; filename=\"_'(x)*.txt\"; filename*=UTF-8''%C3%A9%27%28x%29%2A.txt"],
    ["../../etc/passwd", 'attachment; filename="passwd"'],
    ["C:\\dir\\x.txt", 'attachment; filename="x.txt"'],
    ["a\r\nSet-Cookie: x=1", 'attachment; filename="a__Set-Cookie: x=1"'],
    ["a\0b\x7f", 'attachment; filename="a_b_"'],
    ["\ud800.txt", "attachment; filename=\"_.txt\"; filename*=UTF-8''%EF%BF%BD.txt"],
    ["dir/", "attachment"],
  ])("Content-Disposition is correct for the file name %j", (filename, value) => {
    expect(contentDisposition("attachment", filename)).toBe(value);
  });

  it("Content-Disposition can be inline", () => {
    expect(contentDisposition("inline", "a.txt")).toBe('inline; filename="a.txt"');
  });

  it("Content-Disposition is a valid header for any file name", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 0xffff })), (units) => {
        const filename = String.fromCharCode(...units);
        const value = contentDisposition("attachment", filename);
        expect(() => checkHeader("Content-Disposition", value)).not.toThrow();
        expect(value).toMatch(/^attachment(; filename="[^"\\]*"(; filename\*=UTF-8''[\w.~!$&+^`|%-]+)?)?$/);
      }),
    );
  });
});
