import { describe, expect, it } from "vitest";
import { prefersHtml } from "../../../src/errors/pages/prefers-html.js";

describe("prefersHtml", () => {
  it.each([
    ["Chromium", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8"],
    ["Firefox", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
    ["HTML alone", "text/html"],
    ["other case and spaces", " Text/HTML ; charset=utf-8 ; Q=0.5"],
    ["JSON rated lower", "application/json;q=0.4, text/html;q=0.5"],
    ["HTML beside a wildcard", "text/html, */*"],
  ])("A client with this Accept header gets HTML: %s", (_, accept) => {
    expect(prefersHtml(accept)).toBe(true);
  });

  it.each([
    ["no header", undefined],
    ["an empty header", ""],
    ["curl and fetch", "*/*"],
    ["a client of an API", "application/json, text/plain, */*"],
    ["both named alike", "text/html, application/json"],
    ["JSON rated higher", "text/html;q=0.5, application/json"],
    ["HTML refused", "text/html;q=0, */*"],
    ["HTML below a wildcard", "text/html;q=0.1, */*"],
    ["a rating that is none", "text/html;q=high"],
    ["text of another kind", "text/*"],
  ])("A client with this Accept header gets JSON: %s", (_, accept) => {
    expect(prefersHtml(accept)).toBe(false);
  });
});
