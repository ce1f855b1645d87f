import { afterEach, describe, expect, it, vi } from "vitest";
import { CookieJar } from "../../src/testing/cookie-jar.js";

afterEach(() => void vi.useRealTimers());

describe("the cookies kept between requests", () => {
  it("Cookies are sent below their path, the longest path first", () => {
    const jar = new CookieJar();
    jar.store(["a=1; Path=/", "b=2; Path=/books", "a=3; Path=/books"], "/");
    expect(jar.header("/")).toBe("a=1");
    expect(jar.header("/books")).toBe("b=2; a=3; a=1");
    expect(jar.header("/books/7")).toBe("b=2; a=3; a=1");
    expect(jar.header("/bookshelf")).toBe("a=1");
  });

  it("A cookie without a path belongs to the directory of the request", () => {
    const jar = new CookieJar();
    jar.store(["a=1"], "/admin/login");
    expect(jar.header("/admin/x")).toBe("a=1");
    expect(jar.header("/")).toBe("");
  });

  it("Cookies are replaced, removed and expire", () => {
    vi.useFakeTimers({ now: 0 });
    const jar = new CookieJar();
    jar.store(["a=1; Path=/; Max-Age=10", "b=1; Path=/", "c=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:05 GMT"], "/");
    jar.store(["b=2; Path=/"], "/");
    expect(jar.header("/")).toBe("a=1; b=2; c=1");
    vi.setSystemTime(6000);
    expect(jar.header("/")).toBe("a=1; b=2");
    vi.setSystemTime(11_000);
    expect(jar.header("/")).toBe("b=2");
    jar.store(["b=; Path=/; Max-Age=0"], "/");
    expect(jar.header("/")).toBe("");
  });

  it("Texts that are not cookies are ignored", () => {
    const jar = new CookieJar();
    jar.store(["", "novalue", "=x", "ok==1"], "/");
    expect(jar.header("/")).toBe("ok==1");
  });

  it("A test can set, read and clear cookies", () => {
    const jar = new CookieJar();
    jar.set("theme", "dark blue");
    expect(jar.header("/any")).toBe("theme=dark%20blue");
    expect(jar.get("theme")).toBe("dark%20blue");
    jar.clear();
    expect(jar.get("theme")).toBeUndefined();
  });
});
