import { describe, expect, it } from "vitest";
import { HttpError } from "../../src/errors/http-error.js";
import { parseForm } from "../../src/http/body/form.js";
import type { MultipartLimits } from "../../src/http/body/multipart-parser.js";
import { type Part, readParts } from "../../src/http/body/parts.js";
import fc, { runs } from "../support/properties.js";
import {
  boundary,
  contentType,
  cut,
  fieldPart,
  filePart,
  multipartBody,
  type RawPart,
  stream,
} from "./multipart-body.js";

interface Read {
  name: string;
  filename: string | undefined;
  contentType: string;
  bytes: Buffer;
}

async function readAll(chunks: Iterable<Uint8Array>, limits?: MultipartLimits): Promise<Read[]> {
  const read: Read[] = [];
  for await (const part of readParts(contentType, stream(chunks), limits)) {
    const { name, filename, contentType } = part;
    read.push({ name, filename, contentType, bytes: Buffer.from(await part.bytes()) });
  }
  return read;
}

const nasty = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc
    .array(fc.constantFrom("\r", "\n", "-", "--", "\r\n--", `\r\n--${boundary.slice(0, -1)}`, `--${boundary}`, "x"), {
      maxLength: 8,
    })
    .map((pieces) => Buffer.from(pieces.join("")))
    .filter((content) => !`\r\n${content.toString("latin1")}`.includes(`\r\n--${boundary}`)),
);
const parts = fc.array(
  fc
    .tuple(fc.constantFrom("a", "b", "field name"), nasty)
    .map(([name, content]) => filePart(name, "f", content, "x/y")),
  { maxLength: 4 },
);

describe("a multipart body", () => {
  it("A multipart body gives the same parts for all sizes of chunks", async () => {
    await fc.assert(
      fc.asyncProperty(parts, fc.array(fc.nat(), { maxLength: 12 }), async (sent, places) => {
        const read = await readAll(cut(multipartBody(...sent), places));
        expect(read.map(({ bytes }) => bytes)).toEqual(sent.map(({ content }) => content));
      }),
      { numRuns: runs(300) },
    );
  });

  it("A multipart body gives the same parts byte by byte", async () => {
    const sent = [
      fieldPart("a", "1\r\n--"),
      filePart("f", "x.bin", Buffer.from([13, 10, 45, 45, 13])),
      fieldPart("b", ""),
    ];
    const read = await readAll([...multipartBody(...sent)].map((byte) => Uint8Array.of(byte)));
    expect(read).toEqual([
      { name: "a", filename: undefined, contentType: "text/plain", bytes: Buffer.from("1\r\n--") },
      {
        name: "f",
        filename: "x.bin",
        contentType: "application/octet-stream",
        bytes: Buffer.from([13, 10, 45, 45, 13]),
      },
      { name: "b", filename: undefined, contentType: "text/plain", bytes: Buffer.alloc(0) },
    ]);
  });

  it("A broken multipart body is accepted or refused in the same way for all chunks", async () => {
    const sound = multipartBody(fieldPart("a", "1"), filePart("f", "x", "content\r\n"), fieldPart("b", ""));
    const broken = fc
      .tuple(fc.nat(sound.length - 1), fc.constantFrom("\r", "\n", "-", "x", "\0", '"', ""), fc.nat(3))
      .map(([at, put, skip]) => Buffer.concat([sound.subarray(0, at), Buffer.from(put), sound.subarray(at + skip)]));
    await fc.assert(
      fc.asyncProperty(broken, fc.array(fc.nat(), { maxLength: 6 }), async (body, places) => {
        const outcome = async (chunks: Uint8Array[]) => {
          try {
            return await readAll(chunks, { maxHeaderSize: 70, maxFieldSize: 20, maxFileSize: 40 });
          } catch (error) {
            if (!(error instanceof HttpError)) throw error;
            return [error.status, error.message];
          }
        };
        expect(await outcome(cut(body, places))).toEqual(await outcome([body]));
      }),
      { numRuns: runs(500) },
    );
  });

  it("The head of a part can have exactly the allowed size, for all chunks", async () => {
    const part = fieldPart("a", "1");
    const size = part.head[0]!.length;
    const body = multipartBody(part);
    const bytes = [...body].map((byte) => Uint8Array.of(byte));
    for (const chunks of [[body], bytes]) {
      expect(await readAll(chunks, { maxHeaderSize: size })).toHaveLength(1);
      await expect(readAll(chunks, { maxHeaderSize: size - 1 })).rejects.toMatchObject({ status: 413 });
    }
  });

  it("A multipart body is read in the same way at once and streamed", async () => {
    await fc.assert(
      fc.asyncProperty(parts, async (sent) => {
        const body = multipartBody(...sent, fieldPart("last", "x"));
        const form = parseForm(contentType, body);
        const read = await readAll([body]);
        expect([...form].map(([name]) => name)).toEqual(read.map(({ name }) => name));
        expect(form.files.map(({ bytes }) => Buffer.from(bytes))).toEqual(read.slice(0, -1).map(({ bytes }) => bytes));
      }),
      { numRuns: 50 },
    );
  });
});

describe("the parts of a stream", () => {
  const body = (...sent: RawPart[]) => stream([multipartBody(...sent)]);

  it("A streamed part has its name, file name, type and headers", async () => {
    const head = [
      'Content-Disposition: form-data; name="f"; filename="a.txt"',
      "Content-Type: text/plain",
      "X-Extra:  1 ",
    ];
    for await (const part of readParts(contentType, body({ head, content: "é" }))) {
      expect(part.isFile).toBe(true);
      expect(part.headers.get("x-extra")).toBe("1");
      expect([...part.headers.keys()]).toEqual(["content-disposition", "content-type", "x-extra"]);
      expect(await part.text()).toBe("é");
    }
    expect.assertions(4);
  });

  it("Streamed parts that are not read, or not to the end, are skipped", async () => {
    const sent = [filePart("a", "x", "1".repeat(500)), filePart("b", "x", "2".repeat(500)), fieldPart("c", "3")];
    const names: string[] = [];
    for await (const part of readParts(contentType, stream(cut(multipartBody(...sent), [100, 200, 300, 400, 800])))) {
      names.push(part.name);
      if (part.name === "b") for await (const _ of part.stream()) break;
      if (part.name === "c") expect(await part.text()).toBe("3");
    }
    expect(names).toEqual(["a", "b", "c"]);
  });

  it("No chunk of a streamed form is read before it is needed", async () => {
    let taken = 0;
    const bytes = multipartBody(filePart("a", "x", Buffer.alloc(10_000, "x")), fieldPart("b", "2"));
    async function* counted() {
      for (const chunk of cut(bytes, [200, 2000, 4000, 6000, 8000])) {
        taken++;
        yield chunk;
      }
    }
    const parts = readParts(contentType, counted());
    const first = (await parts.next()).value as Part;
    expect(taken).toBe(1);
    const content = first.stream();
    let received = (await content.next()).value!.length;
    expect(taken).toBe(1);
    received += (await content.next()).value!.length;
    expect(taken).toBe(2);
    for await (const piece of content) received += piece.length;
    expect(received).toBe(10_000);
    expect(((await parts.next()).value as Part).name).toBe("b");
    expect((await parts.next()).done).toBe(true);
    expect(taken).toBe(6);
  });

  it("The received bytes of a part are available before its end is known", async () => {
    const bytes = multipartBody(filePart("a", "x", "abcdef".repeat(100)));
    const middle = bytes.indexOf("abcdef") + 300;
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* held() {
      yield bytes.subarray(0, middle);
      await gate;
      yield bytes.subarray(middle);
    }
    for await (const part of readParts(contentType, held())) {
      const content = part.stream();
      expect((await content.next()).value).toHaveLength(300);
      release();
      expect((await content.next()).value).toHaveLength(300);
      expect((await content.next()).done).toBe(true);
    }
    expect.assertions(3);
  });

  it("A part can be read once, and not after the next one was requested", async () => {
    const parts = readParts(contentType, body(fieldPart("a", "1"), fieldPart("b", "2"), fieldPart("c", "3")));
    const first = (await parts.next()).value as Part;
    expect(await first.text()).toBe("1");
    await expect(first.text()).rejects.toThrow("has been read already");
    const second = (await parts.next()).value as Part;
    const begun = second.stream();
    const third = (await parts.next()).value as Part;
    await expect(second.bytes()).rejects.toThrow("can no longer be read");
    await expect(begun.next()).rejects.toThrow("can no longer be read");
    expect(await third.text()).toBe("3");
  });

  it("A part that is still being read is not mixed up with the next one", async () => {
    async function* slow() {
      for (const chunk of cut(multipartBody(fieldPart("a", "1"), fieldPart("b", "2")), [70, 72])) {
        await new Promise((resolve) => setImmediate(resolve));
        yield chunk;
      }
    }
    const parts = readParts(contentType, slow());
    const first = (await parts.next()).value as Part;
    const text = first.text();
    await expect(parts.next()).rejects.toThrow("still being read");
    await text.catch(() => {});
  });

  it("The body's stream ends when the reader stops or the form is refused", async () => {
    let ended = 0;
    async function* watched(bytes: Uint8Array) {
      try {
        for (const chunk of cut(bytes, [80, 90])) yield chunk;
      } finally {
        ended++;
      }
    }
    const bytes = multipartBody(fieldPart("a", "1"), fieldPart("b", "2"));
    for await (const _ of readParts(contentType, watched(bytes))) break;
    expect(ended).toBe(1);
    await expect(readParts(contentType, watched(Buffer.from(`--${boundary}xxx`))).next()).rejects.toThrow(HttpError);
    expect(ended).toBe(2);
  });

  it("The parts are read to the end of the body, so that nothing is left on the connection", async () => {
    let finished = false;
    async function* withEpilogue() {
      yield multipartBody(fieldPart("a", "1"));
      yield Buffer.from("epilogue");
      finished = true;
    }
    for await (const part of readParts(contentType, withEpilogue())) expect(part.name).toBe("a");
    expect(finished).toBe(true);
  });

  it("An error of the body's stream reaches the reader of a part", async () => {
    async function* failing() {
      yield multipartBody(filePart("a", "x", "x".repeat(500))).subarray(0, 300);
      throw new Error("the client has gone");
    }
    const parts = readParts(contentType, failing());
    const part = (await parts.next()).value as Part;
    await expect(part.bytes()).rejects.toThrow("the client has gone");
  });

  it("A streamed form stops at a limit before the rest has arrived", async () => {
    async function* endless() {
      yield multipartBody(filePart("a", "x", "")).subarray(0, -20);
      for (;;) yield Buffer.alloc(1000, "x");
    }
    const parts = readParts(contentType, endless(), { maxFileSize: 5000 });
    const part = (await parts.next()).value as Part;
    await expect(part.bytes()).rejects.toMatchObject({ status: 413 });
  });

  it("A streamed form stops at a head that never ends", async () => {
    async function* endless() {
      yield Buffer.from(`--${boundary}\r\nX: `);
      for (;;) yield Buffer.alloc(1000, "x");
    }
    await expect(readParts(contentType, endless()).next()).rejects.toMatchObject({ status: 413 });
  });

  it("A streamed form is refused with 415 for another type, and with 400 without a boundary", async () => {
    await expect(readParts("text/plain", stream([])).next()).rejects.toMatchObject({ status: 415 });
    await expect(readParts(undefined, stream([])).next()).rejects.toMatchObject({ status: 415 });
    await expect(readParts("multipart/form-data", stream([])).next()).rejects.toMatchObject({ status: 400 });
  });
});
