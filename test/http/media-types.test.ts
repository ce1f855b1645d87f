import { describe, expect, it } from "vitest";
import { isToken } from "../../src/http/fields/headers.js";
import { mediaType } from "../../src/http/fields/media-types.js";

describe("the content type of a file", () => {
  it.each([
    ["index.html", "text/html; charset=utf-8"],
    ["INDEX.HTM", "text/html; charset=utf-8"],
    ["a/b/app.js", "text/javascript; charset=utf-8"],
    ["app.mjs", "text/javascript; charset=utf-8"],
    ["style.css", "text/css; charset=utf-8"],
    ["notes.txt", "text/plain; charset=utf-8"],
    ["data.json", "application/json"],
    ["image.svg", "image/svg+xml"],
    ["photo.JPG", "image/jpeg"],
    ["font.woff2", "font/woff2"],
    ["module.wasm", "application/wasm"],
    ["site.webmanifest", "application/manifest+json"],
    ["archive.tar.gz", "application/gzip"],
    ["film.mp4", "video/mp4"],
    ["book.pdf", "application/pdf"],
    ["C:\\dir.html\\file", "application/octet-stream"],
    ["dir.html/file", "application/octet-stream"],
    ["a/dir/.html", "application/octet-stream"],
    ["unknown.xyzzy", "application/octet-stream"],
    ["Makefile", "application/octet-stream"],
    [".html", "application/octet-stream"],
    ["name.", "application/octet-stream"],
    ["a.__proto__", "application/octet-stream"],
    ["a.constructor", "application/octet-stream"],
    ["", "application/octet-stream"],
  ])("The content type of %s is %s", (path, type) => {
    expect(mediaType(path)).toBe(type);
    const [kind, subtype] = type.split(";")[0]!.split("/");
    expect(isToken(kind!) && isToken(subtype!)).toBe(true);
  });
});
