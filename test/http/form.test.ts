import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { HttpError } from "../../src/errors/http-error.js";
import { type Form, FormFile, parseForm } from "../../src/http/body/form.js";
import type { MultipartLimits } from "../../src/http/body/multipart-parser.js";
import { sourceUrl } from "../support/source-url.js";
import { boundary, contentType, fieldPart, filePart, multipartBody, type RawPart } from "./multipart-body.js";

const run = promisify(execFile);
const urlencoded = "application/x-www-form-urlencoded";

function parse(...parts: RawPart[]): Form {
  return parseForm(contentType, multipartBody(...parts));
}

function refusal(run: () => unknown): { status: number; code: string; detail: string } {
  try {
    run();
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return { status: error.status, code: error.code, detail: error.message };
  }
  throw new Error("it was not refused");
}

describe("a url-encoded form", () => {
  it("A url-encoded form gives fields by name, decoded, in order", () => {
    const form = parseForm(urlencoded, Buffer.from("a=1&b=x+y%20z&a=2&c=%C3%A9"));
    expect(form.get("a")).toBe("1");
    expect(form.getAll("a")).toEqual(["1", "2"]);
    expect(form.get("b")).toBe("x y z");
    expect(form.has("c")).toBe(true);
    expect(form.has("d")).toBe(false);
    expect(form.size).toBe(4);
    expect([...form.keys()]).toEqual(["a", "b", "c"]);
    expect(form.files).toEqual([]);
  });

  it("A url-encoded form is recognised with a charset, in any case", () => {
    expect(parseForm("Application/X-WWW-Form-Urlencoded; charset=UTF-8", Buffer.from("a=1")).get("a")).toBe("1");
  });

  it("An empty body is an empty url-encoded form", () => {
    expect([...parseForm(urlencoded, Buffer.alloc(0))]).toEqual([]);
  });

  it("A form becomes an object without a prototype that contains only the fields", () => {
    const object = parseForm(urlencoded, Buffer.from("__proto__=1&a=1&a=2&a=3&constructor=x")).toJSON();
    expect(Object.getPrototypeOf(object)).toBeNull();
    expect(Object.entries(object)).toEqual([
      ["__proto__", "1"],
      ["a", ["1", "2", "3"]],
      ["constructor", "x"],
    ]);
  });

  it("A url-encoded form that is not UTF-8 is refused with 400", () => {
    const refused = refusal(() => parseForm(urlencoded, Buffer.from([0x61, 0x3d, 0xff])));
    expect(refused).toMatchObject({ status: 400, code: "MALFORMED_FORM" });
  });

  it("A url-encoded form with too many fields is refused with 413", () => {
    const body = Buffer.from(Array.from({ length: 1000 }, (_, i) => `a${i}=1`).join("&"));
    expect(parseForm(urlencoded, body).size).toBe(1000);
    expect(refusal(() => parseForm(urlencoded, Buffer.concat([body, Buffer.from("&b=1")])))).toMatchObject({
      status: 413,
      code: "PAYLOAD_TOO_LARGE",
    });
    expect(refusal(() => parseForm(urlencoded, Buffer.from("a&b&c"), { maxParts: 2 })).status).toBe(413);
  });
});

describe("a url-encoded form as large as the body limit", () => {
  it("A url-encoded form as large as the body limit takes only a few times its size in memory", async () => {
    const program = `
      import { parseForm } from ${JSON.stringify(sourceUrl("http/body/form.ts"))};
      for (const unit of ["%z", "%", "+", "%ff", "%41", "é%z", "=", "a"]) {
        const bytes = Buffer.from(unit.repeat(Math.floor(9_900_000 / Buffer.byteLength(unit))));
        process.stdout.write(String(parseForm("application/x-www-form-urlencoded", bytes).size));
      }
    `;
    const node = ["--max-old-space-size=96", "--input-type=module", "--eval", program];
    expect((await run(process.execPath, node)).stdout).toBe("11111111");
  });
});

describe("the content type of a form", () => {
  it.each([
    undefined,
    "",
    "application/json",
    "text/plain",
    `${urlencoded} garbage`,
    `${urlencoded}, ${urlencoded}`,
    "multipart/mixed; boundary=x",
    "multipart/form-data garbage; boundary=x",
    "multipart/form-data; boundary=",
    "multipart/form-data; boundary=a; boundary=b",
  ])("A form of the content type %s is refused with 415", (type) => {
    expect(refusal(() => parseForm(type, Buffer.from("a=1"))).status).toBe(415);
  });

  it.each([
    "multipart/form-data",
    'multipart/form-data; boundary=""',
    `multipart/form-data; boundary=${"x".repeat(71)}`,
    'multipart/form-data; boundary="ends with a space "',
    'multipart/form-data; boundary="a\tb"',
    'multipart/form-data; boundary="a*b"',
  ])("The content type %s is refused with 400 for its boundary", (type) => {
    expect(refusal(() => parseForm(type, multipartBody()))).toMatchObject({ status: 400, code: "MALFORMED_FORM" });
  });

  it.each([
    [`multipart/form-data; boundary=${"x".repeat(70)}`, "x".repeat(70)],
    ['multipart/form-data; boundary="a b"', "a b"],
    ["multipart/form-data; charset=utf-8; boundary=----=_Part_1:2/3?", "----=_Part_1:2/3?"],
    ["Multipart/Form-Data;BOUNDARY=x", "x"],
  ])("A form of the content type %s is read", (type, expected) => {
    const body = `--${expected}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--${expected}--`;
    expect(parseForm(type, Buffer.from(body)).get("a")).toBe("1");
  });
});

describe("a multipart form", () => {
  it("A multipart form gives fields and files in order", () => {
    const form = parse(
      fieldPart("title", "Sátántangó"),
      filePart("cover", "a.png", Buffer.from([1, 2, 0, 255]), "image/png"),
      fieldPart("tag", "one"),
      fieldPart("tag", "two"),
    );
    expect(form.get("title")).toBe("Sátántangó");
    expect(form.getAll("tag")).toEqual(["one", "two"]);
    expect(form.fields).toEqual([
      ["title", "Sátántangó"],
      ["tag", "one"],
      ["tag", "two"],
    ]);
    const cover = form.file("cover")!;
    expect(cover).toBeInstanceOf(FormFile);
    expect(form.get("cover")).toBe(cover);
    expect(form.files).toEqual([cover]);
    expect({ ...cover, bytes: [...cover.bytes], size: cover.size }).toEqual({
      name: "cover",
      filename: "a.png",
      type: "image/png",
      size: 4,
      bytes: [1, 2, 0, 255],
    });
    expect([...form].map(([name]) => name)).toEqual(["title", "cover", "tag", "tag"]);
    expect(form.file("title")).toBeUndefined();
    expect(form.toJSON()).toEqual({ title: "Sátántangó", tag: ["one", "two"] });
  });

  it("A file of a form can be read as text", () => {
    expect(
      parse(filePart("f", "a.txt", "é"))
        .file("f")!
        .text(),
    ).toBe("é");
  });

  it("Line breaks and text that resembles a boundary stay in the content of a part", () => {
    const content = `\r\n--\r\n--${boundary.slice(0, -1)}\r\n${boundary}\r\n--other--\r\n\r`;
    expect(parse(fieldPart("a", content), fieldPart("b", "2")).toJSON()).toEqual({ a: content, b: "2" });
  });

  it("A part with empty content is read, with and without a line break of its own", () => {
    expect(parse(fieldPart("a", ""), fieldPart("b", "")).toJSON()).toEqual({ a: "", b: "" });
    const head = 'Content-Disposition: form-data; name="a"';
    const bare = `--${boundary}\r\n${head}\r\n\r\n--${boundary}--`;
    expect(parseForm(contentType, Buffer.from(bare)).toJSON()).toEqual({ a: "" });
  });

  it("A multipart form can be empty, have text around its parts, and padding after a boundary", () => {
    expect(parse().size).toBe(0);
    const part = 'Content-Disposition: form-data; name="a"\r\n\r\n1';
    const body = `to be ignored\r\n--${boundary} \t\r\n${part}\r\n--${boundary}-- \t\r\nto be ignored\r\n--${boundary}\r\nx`;
    expect(parseForm(contentType, Buffer.from(body)).toJSON()).toEqual({ a: "1" });
    expect(parseForm(contentType, Buffer.from(`\r\n--${boundary}--`)).size).toBe(0);
  });

  it("A file input without a chosen file is left out of the form", () => {
    const form = parse(filePart("cover", "", "", "application/octet-stream"));
    expect(form.has("cover")).toBe(false);
    expect(form.file("cover")).toBeUndefined();
  });

  it("A file without a type is application/octet-stream", () => {
    expect(parse(filePart("f", "a", "x")).file("f")!.type).toBe("application/octet-stream");
  });

  it.each([
    ["a plain name", "a.txt", "a.txt"],
    ["a path", "/etc/passwd", "passwd"],
    ["a path upwards", "../../x.sh", "x.sh"],
    ["a Windows path", "C:\\Users\\ada\\x.txt", "x.txt"],
    ["an escaped Windows path", "C:\\\\x.txt", "x.txt"],
    ["two dots", "..", ""],
    ["a path to two dots", "a/..", ""],
    ["a path that ends in a slash", "a/b/", ""],
    ["a quote as browsers send it", "a%22b.txt", 'a"b.txt'],
    ["an escaped quote", 'a\\"b.txt', 'a"b.txt'],
    ["a percent sign", "100%25.txt", "100%25.txt"],
    ["UTF-8", "é日本.txt", "é日本.txt"],
    ["a semicolon", "a;b=c.txt", "a;b=c.txt"],
  ])("A file name with %s is reduced to its last component", (_, sent, filename) => {
    expect(parse(filePart("f", sent, "x")).file("f")!.filename).toBe(filename);
  });

  it("A filename* parameter is ignored in a form", () => {
    const form = parse(
      { head: [`Content-Disposition: form-data; name="a"; filename*=UTF-8''x.txt`], content: "1" },
      { head: [`Content-Disposition: form-data; name=b; filename=y.txt; filename*=UTF-8''x.txt`], content: "2" },
    );
    expect(form.get("a")).toBe("1");
    expect(form.file("b")!.filename).toBe("y.txt");
  });

  it("A multipart field named __proto__ is a plain field", () => {
    const object = parse(fieldPart("__proto__", "1"), fieldPart("__proto__", "2")).toJSON();
    expect(Object.entries(object)).toEqual([["__proto__", ["1", "2"]]]);
  });

  const named = 'Content-Disposition: form-data; name="secret-echo"';
  it.each<[string, string[]]>([
    ["without a header", []],
    ["without Content-Disposition", ["Content-Type: text/plain"]],
    ["without a name", ["Content-Disposition: form-data"]],
    ["of another disposition", ['Content-Disposition: attachment; name="a"']],
    ["with two dispositions", [named, named]],
    ["with two names", [`${named}; name="b"`]],
    ["with two filenames", [`${named}; filename=a; filename=b`]],
    ["with an open quote", ['Content-Disposition: form-data; name="a']],
    ["with text behind a quote", ['Content-Disposition: form-data; name="a"b']],
    ["with a folded field", [named, " folded: x"]],
    ["with a field without a colon", [named, "x"]],
    ["with a space before a colon", [named, "x : y"]],
    ["with NUL in the filename", [`${named}; filename="a\0.txt"`]],
    ["with a bare line feed", [`${named}\nX: 1`]],
    ["with a bare carriage return", [`${named}\rX: 1`]],
    ["in base64", [named, "Content-Transfer-Encoding: base64"]],
  ])("A multipart form is refused with 400 for a part %s, and the error repeats no input", (_, head) => {
    const refused = refusal(() => parse({ head, content: "secret-echo" }));
    expect(refused).toMatchObject({ status: 400, code: "MALFORMED_FORM" });
    expect(refused.detail).toMatch(/^A part |^The header of a part /);
    expect(refused.detail).not.toContain("secret-echo");
  });

  it("A multipart form is refused if a header or a field is not UTF-8", () => {
    const bad = Buffer.from([0x61, 0xff]).toString("latin1");
    const head = Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${bad}"\r\n\r\n`, "latin1");
    const tail = Buffer.from(`\r\n--${boundary}--`);
    expect(refusal(() => parseForm(contentType, Buffer.concat([head, tail]))).status).toBe(400);
    const field = { ...fieldPart("a", ""), content: Buffer.from([0xc3]) };
    expect(refusal(() => parse(field)).detail).toBe("A field of the form is not valid UTF-8.");
  });

  it("A transfer encoding of a part that changes nothing is accepted", () => {
    const head = ['Content-Disposition: form-data; name="a"', "Content-Transfer-Encoding: 8BIT"];
    expect(parse({ head, content: "1" }).get("a")).toBe("1");
  });

  it("A multipart form that is cut off at any place is refused with 400", () => {
    const body = multipartBody(fieldPart("a", "1"), filePart("f", "x", "content"));
    for (let length = 0; length < body.length - 2; length++) {
      const refused = refusal(() => parseForm(contentType, body.subarray(0, length)));
      expect(refused, `cut off at ${length}`).toMatchObject({ status: 400, code: "MALFORMED_FORM" });
    }
    expect(parseForm(contentType, body.subarray(0, body.length - 2)).size).toBe(2);
  });

  it.each(["x", "-x", "--x", "\n", "--\n", "\rx"])(
    "A multipart form is refused if a boundary is followed by %j",
    (garbage) => {
      const body = Buffer.from(`--${boundary}${garbage}\r\n\r\n--${boundary}--`);
      expect(refusal(() => parseForm(contentType, body)).status).toBe(400);
    },
  );

  it.each<[string, MultipartLimits, RawPart[], RawPart[]]>([
    ["maxParts", { maxParts: 2 }, [fieldPart("a", ""), filePart("b", "x", "")], [fieldPart("c", "")]],
    ["maxFiles", { maxFiles: 1 }, [filePart("a", "x", ""), fieldPart("b", "")], [filePart("c", "y", "")]],
    [
      "maxFieldSize",
      { maxFieldSize: 4 },
      [fieldPart("a", "1234"), filePart("b", "x", "12345")],
      [fieldPart("c", "12345")],
    ],
    [
      "maxFileSize",
      { maxFileSize: 4 },
      [filePart("a", "x", "1234"), fieldPart("b", "12345")],
      [filePart("c", "x", "12345")],
    ],
    ["maxHeaderSize", { maxHeaderSize: 60 }, [fieldPart("a", "")], [fieldPart("a".repeat(60), "")]],
  ])("A multipart form is refused with 413 past %s", (_, limits, within, beyond) => {
    expect(() => parseForm(contentType, multipartBody(...within), limits)).not.toThrow();
    const refused = refusal(() => parseForm(contentType, multipartBody(...within, ...beyond), limits));
    expect(refused).toMatchObject({ status: 413, code: "PAYLOAD_TOO_LARGE" });
  });

  it("The default limits of a form hold also if an option is undefined", () => {
    const fields = Array.from({ length: 1001 }, () => fieldPart("a", ""));
    expect(refusal(() => parseForm(contentType, multipartBody(...fields), { maxParts: undefined })).status).toBe(413);
    const files = Array.from({ length: 101 }, () => filePart("a", "x", ""));
    expect(refusal(() => parse(...files)).status).toBe(413);
    expect(refusal(() => parse(fieldPart("a", "x".repeat(1024 * 1024 + 1)))).status).toBe(413);
    expect(refusal(() => parse(fieldPart("x".repeat(17_000), ""))).status).toBe(413);
    expect(parse(filePart("f", "x", Buffer.alloc(3 * 1024 * 1024))).file("f")!.size).toBe(3 * 1024 * 1024);
  });

  it("An invalid limit of a form is refused", () => {
    const limits = { maxFile: 3 } as MultipartLimits;
    expect(() => parseForm(contentType, multipartBody(), limits)).toThrow("did you mean 'maxFiles'");
  });
});
