import { execFileSync } from "node:child_process";
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HttpError } from "../../src/errors/http-error.js";
import { FileBody, type FileOptions } from "../../src/http/files/file-body.js";
import { sendFile } from "../../src/http/files/send-file.js";
import { Response } from "../../src/http/response.js";
import { ValueError } from "../../src/kit/value-error.js";
import { fakeRequest } from "./fake-source.js";

const alphabet = "abcdefghijklmnopqrstuvwxyz";
const large = Buffer.alloc(300_000, alphabet);
const modified = new Date("2024-01-01T12:00:00.750Z");
const lastModified = "Mon, 01 Jan 2024 12:00:00 GMT";
let directory: string;
let root: string;

beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), "stoa-file-")));
  root = join(directory, "public");
  await mkdir(join(root, "dir"), { recursive: true });
  await mkdir(join(root, ".git"));
  await writeFile(join(root, "letters.txt"), alphabet);
  await writeFile(join(root, "large.bin"), large);
  await writeFile(join(root, "empty.txt"), "");
  await writeFile(join(root, ".env"), "SECRET=1");
  await writeFile(join(root, ".git", "config"), "x");
  await writeFile(join(directory, "outside.txt"), "outside");
  await symlink(join(directory, "outside.txt"), join(root, "link-out.txt"));
  await symlink(directory, join(root, "dir-out"));
  await symlink(join(root, "letters.txt"), join(root, "link-in.txt"));
  await symlink(join(root, ".env"), join(root, "link-dot.txt"));
  for (const name of ["letters.txt", "large.bin"]) await utimes(join(root, name), modified, modified);
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

async function get(
  path: string,
  fields?: Record<string, string>,
  options?: FileOptions,
  method = "GET",
): Promise<Answer> {
  const response = await sendFile(fakeRequest(method, fields), Response.file(join(root, path), options));
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await textOf(response) };
}

async function textOf(response: Response): Promise<string> {
  const { body } = response;
  if (body === null) return "";
  if (typeof body === "string" || body instanceof Uint8Array) return Buffer.from(body as string).toString();
  const pieces: Uint8Array[] = [];
  for await (const piece of body as AsyncIterable<Uint8Array>) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function refusal(promise: Promise<unknown>): Promise<HttpError> {
  const error = await promise.then(
    () => new Error("it was not refused"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof HttpError)) throw error;
  return error;
}

/** Descriptors of this process on files below the test's directory. */
async function openDescriptors(): Promise<string[]> {
  if (process.platform !== "linux") return [];
  const links = await Promise.all(
    (await readdir("/proc/self/fd")).map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => "")),
  );
  return links.filter((link) => link.startsWith(directory));
}

describe("a file", () => {
  it("A file is sent whole, with its type, validators and Accept-Ranges", async () => {
    const answer = await get("letters.txt");
    expect(answer).toEqual({
      status: 200,
      headers: {
        "content-type": "text/plain; charset=utf-8",
        etag: expect.stringMatching(/^"[\w-]+"$/),
        "last-modified": lastModified,
        "accept-ranges": "bytes",
      },
      text: alphabet,
    });
  });

  it("A compressed file is sent with its coding, the type of its content and another tag", async () => {
    const plain = await get("letters.txt");
    const { headers } = await get("letters.txt", {}, { contentEncoding: "gzip" });
    expect(headers).toMatchObject({ "content-encoding": "gzip", "content-type": "text/plain; charset=utf-8" });
    expect(headers["etag"]).not.toBe(plain.headers["etag"]);
  });

  it("A large file is streamed in pieces, with its length", async () => {
    const response = await sendFile(fakeRequest("GET"), Response.file(join(root, "large.bin")));
    expect(response.headers.get("content-length")).toBe("300000");
    const sizes: number[] = [];
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body as AsyncIterable<Uint8Array>) {
      sizes.push(piece.length);
      pieces.push(piece);
    }
    expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThanOrEqual(64 * 1024);
    expect(Buffer.concat(pieces).equals(large)).toBe(true);
    expect(await openDescriptors()).toEqual([]);
  });

  it("An empty file is sent with status 200", async () => {
    expect(await get("empty.txt")).toMatchObject({ status: 200, text: "" });
  });

  it("A file can be named by a URL", async () => {
    const response = await sendFile(fakeRequest("GET"), Response.file(pathToFileURL(join(root, "letters.txt"))));
    expect(await textOf(response)).toBe(alphabet);
  });

  it("A HEAD request for a file gets the headers of GET and no body", async () => {
    for (const [name, length] of [
      ["letters.txt", "26"],
      ["large.bin", "300000"],
    ] as const) {
      const head = await get(name, {}, {}, "HEAD");
      const whole = await get(name);
      expect(head).toEqual({ status: 200, headers: { ...whole.headers, "content-length": length }, text: "" });
    }
    expect(await openDescriptors()).toEqual([]);
  });

  it("A response with a file can be sent again", async () => {
    const response = Response.file(join(root, "letters.txt")).header("X-Test", "1").cacheTags("a");
    const first = await sendFile(fakeRequest("GET", { range: "bytes=0-1" }), response);
    const second = await sendFile(fakeRequest("GET"), response);
    expect([first.status, await textOf(first)]).toEqual([206, "ab"]);
    expect([second.status, await textOf(second)]).toEqual([200, alphabet]);
    expect(second.headers.get("x-test")).toBe("1");
    expect(second.headers.has("content-range")).toBe(false);
    expect(second.tags).toEqual(["a"]);
    expect(response.body).toBeInstanceOf(FileBody);
    expect(response.fields).toEqual(["X-Test", "1"]);
  });

  it("A response with another body is left unchanged", async () => {
    const response = new Response("x");
    expect(await sendFile(fakeRequest("GET"), response)).toBe(response);
  });

  it("The headers that the handler set are kept for a file", async () => {
    const response = Response.file(join(root, "letters.txt"), {
      headers: { "Content-Type": "text/x-own", ETag: '"own"', "Last-Modified": "Tue, 02 Jan 2024 00:00:00 GMT" },
      maxAge: 60,
    }).header("Cache-Control", "no-store");
    const whole = await sendFile(fakeRequest("GET"), response);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      "content-type": "text/x-own",
      etag: '"own"',
      "last-modified": "Tue, 02 Jan 2024 00:00:00 GMT",
      "cache-control": "no-store",
    });
    expect((await sendFile(fakeRequest("GET", { "if-none-match": '"own"' }), response)).status).toBe(304);
  });
});

describe("paths that are not a regular file", () => {
  it.each([
    ["is not there", "missing.txt"],
    ["is below a file", "letters.txt/x"],
    ["is a directory", "dir"],
    ["has NUL in its name", "letters.txt\0.html"],
    ["has a name longer than any file's", "x".repeat(5000)],
  ])("A path that %s is 404", async (_, path) => {
    expect((await refusal(get(path))).status).toBe(404);
    expect((await refusal(get(path, {}, { root }))).status).toBe(404);
    expect(await openDescriptors()).toEqual([]);
  });

  it.skipIf(process.platform === "win32")("A FIFO is 404, without waiting for its writer", async () => {
    execFileSync("mkfifo", [join(root, "fifo")]);
    expect((await refusal(get("fifo"))).status).toBe(404);
    expect(await openDescriptors()).toEqual([]);
    await rm(join(root, "fifo"));
  });

  it.skipIf(process.platform === "win32")("A device file gets 404", async () => {
    const response = Response.file("/dev/zero");
    expect((await refusal(sendFile(fakeRequest("GET"), response))).status).toBe(404);
  });
});

describe("a file below a root", () => {
  const send = async (path: string, options: FileOptions = {}): Promise<string> =>
    textOf(await sendFile(fakeRequest("GET"), Response.file(path, { root, ...options })));

  it("A file below a root is named relative to it, or by a whole path within it", async () => {
    expect(await send("letters.txt")).toBe(alphabet);
    expect(await send("dir/../letters.txt")).toBe(alphabet);
    expect(await send("link-in.txt")).toBe(alphabet);
    expect(await send(join(root, "letters.txt"))).toBe(alphabet);
    expect(await send("letters.txt", { root: pathToFileURL(root) })).toBe(alphabet);
  });

  it("The root of files can be behind a link", async () => {
    await symlink(root, join(directory, "root-link"));
    expect(await send("letters.txt", { root: join(directory, "root-link") })).toBe(alphabet);
  });

  it.each([
    "../outside.txt",
    "dir/../../outside.txt",
    "..",
    ".",
    "",
    "/etc/passwd",
    "link-out.txt",
    "dir-out/outside.txt",
    "dir-out/public/letters.txt/../../outside.txt",
  ])("A path that leads out of the root is 404: %j", async (path) => {
    expect((await refusal(send(path, { dotfiles: "allow" }))).status).toBe(404);
  });

  it("A directory whose name begins like the root is outside it", async () => {
    await mkdir(join(directory, "public-not"));
    await writeFile(join(directory, "public-not", "x.txt"), "x");
    expect((await refusal(send("../public-not/x.txt"))).status).toBe(404);
  });

  it.each([".env", ".git/config", "link-dot.txt"])("The hidden file %s is 404 unless that is allowed", async (path) => {
    expect((await refusal(send(path))).status).toBe(404);
    expect(await send(path, { dotfiles: "allow" })).not.toBe("");
  });

  it("A file without a root is hidden by its name only if that is configured", async () => {
    expect((await get(".env")).text).toBe("SECRET=1");
    expect((await refusal(get(".env", {}, { dotfiles: "deny" }))).status).toBe(404);
  });
});

describe("a range of a file", () => {
  it.each([
    ["single", "bytes=0-4", "abcde", "bytes 0-4/26"],
    ["suffix", "bytes=-5", "vwxyz", "bytes 21-25/26"],
    ["open", "bytes=20-", "uvwxyz", "bytes 20-25/26"],
    ["clipped", "bytes=20-99", "uvwxyz", "bytes 20-25/26"],
  ])("A range of a file is sent with 206 if it is %s", async (_, range, text, contentRange) => {
    const answer = await get("letters.txt", { range });
    expect(answer).toMatchObject({ status: 206, text, headers: { "content-range": contentRange } });
    expect(answer.headers["etag"]).toBe((await get("letters.txt")).headers["etag"]);
  });

  it("A large range is streamed, and a small one is read at once", async () => {
    const wide = await get("large.bin", { range: "bytes=100000-299998" });
    expect(wide.headers["content-length"]).toBe("199999");
    expect(wide.text).toBe(large.subarray(100_000, 299_999).toString());
    const narrow = await get("large.bin", { range: "bytes=-3" });
    expect(narrow.headers["content-length"]).toBeUndefined();
    expect(narrow).toMatchObject({
      text: large.subarray(-3).toString(),
      headers: { "content-range": "bytes 299997-299999/300000" },
    });
  });

  it("A range outside the file is 416 with its size", async () => {
    const error = await refusal(get("letters.txt", { range: "bytes=26-" }));
    expect(error.status).toBe(416);
    expect(error.headers).toEqual({ "Content-Range": "bytes */26" });
    expect(await openDescriptors()).toEqual([]);
  });

  it.each(["garbage", "bytes=5-2", "items=0-4", "bytes=0-1,3-4"])(
    "The Range header %s is ignored for a file",
    async (range) => {
      const answer = await get("letters.txt", { range });
      expect(answer).toMatchObject({ status: 200, text: alphabet });
      expect(answer.headers["content-range"]).toBeUndefined();
    },
  );

  it("A range is used only for GET and for a response of 200", async () => {
    expect((await get("letters.txt", { range: "bytes=0-4" }, {}, "HEAD")).status).toBe(200);
    expect(await get("letters.txt", { range: "bytes=0-4" }, {}, "POST")).toMatchObject({ status: 200, text: alphabet });
    expect(await get("letters.txt", { range: "bytes=0-4" }, { status: 404 })).toMatchObject({
      status: 404,
      text: alphabet,
    });
  });

  it("A range is sent if If-Range matches the current state, otherwise the whole file", async () => {
    const { etag } = (await get("letters.txt")).headers;
    const status = async (ifRange: string) =>
      (await get("letters.txt", { range: "bytes=0-4", "if-range": ifRange })).status;
    expect(await status(etag!)).toBe(206);
    expect(await status(lastModified)).toBe(206);
    expect(await status('"other"')).toBe(200);
    expect(await status(`W/${etag}`)).toBe(200);
    expect(await status("Mon, 01 Jan 2024 11:59:59 GMT")).toBe(200);
    expect(await status("garbage")).toBe(200);
  });
});

describe("conditions on a file", () => {
  it("A conditional request for an unchanged file gets 304, with validators and no body", async () => {
    const whole = await get("letters.txt", {}, { maxAge: 60 });
    for (const method of ["GET", "HEAD"]) {
      const answer = await get("letters.txt", { "if-none-match": whole.headers["etag"]! }, { maxAge: 60 }, method);
      expect(answer).toEqual({
        status: 304,
        text: "",
        headers: {
          etag: whole.headers["etag"],
          "last-modified": lastModified,
          "cache-control": "max-age=60",
          "accept-ranges": "bytes",
        },
      });
    }
    expect((await get("letters.txt", { "if-modified-since": lastModified })).status).toBe(304);
    expect(await openDescriptors()).toEqual([]);
  });

  it("A condition on the entity tag takes precedence over one on the date, and invalid dates are ignored", async () => {
    const fields = { "if-none-match": '"other"', "if-modified-since": lastModified };
    expect((await get("letters.txt", fields)).status).toBe(200);
    expect((await get("letters.txt", { "if-modified-since": "garbage" })).status).toBe(200);
  });

  it("A precondition on a file that fails is 412", async () => {
    expect((await refusal(get("letters.txt", { "if-match": '"other"' }))).status).toBe(412);
    const unmodified = { "if-unmodified-since": "Mon, 01 Jan 2024 11:59:59 GMT" };
    expect((await refusal(get("letters.txt", unmodified))).status).toBe(412);
    expect(await openDescriptors()).toEqual([]);
  });

  it("Conditions are used only for GET and HEAD, and for a response of 200", async () => {
    expect((await get("letters.txt", { "if-none-match": "*" }, {}, "POST")).status).toBe(200);
    expect((await get("letters.txt", { "if-none-match": "*" }, { status: 404 })).status).toBe(404);
  });

  it("A changed content of the same size is noticed", async () => {
    const path = join(root, "changing.txt");
    await writeFile(path, "one");
    await utimes(path, modified, modified);
    const { etag } = (await get("changing.txt")).headers;
    await writeFile(path, "two");
    await utimes(path, modified, new Date(modified.getTime() + 1));
    expect((await get("changing.txt", { "if-none-match": etag! })).text).toBe("two");
  });

  it("Last-Modified is never in the future", async () => {
    const path = join(root, "future.txt");
    await writeFile(path, "x");
    await utimes(path, modified, new Date(Date.now() + 86_400_000));
    const date = Date.parse((await get("future.txt")).headers["last-modified"]!);
    expect(date).toBeLessThanOrEqual(Date.now());
  });
});

describe("a file that changes while it is sent", () => {
  const begin = async (name: string) => {
    const path = join(root, name);
    await writeFile(path, large);
    const response = await sendFile(fakeRequest("GET"), Response.file(path));
    const pieces = response.body as AsyncIterableIterator<Uint8Array>;
    return { path, pieces, first: (await pieces.next()).value as Uint8Array };
  };
  const rest = async (first: Uint8Array, pieces: AsyncIterable<Uint8Array>) => {
    const all = [first];
    for await (const piece of pieces) all.push(piece);
    return Buffer.concat(all);
  };

  it("A file that is replaced while it is sent is sent as it was", async () => {
    const { path, pieces, first } = await begin("replaced.bin");
    await writeFile(`${path}.new`, "short");
    await rename(`${path}.new`, path);
    expect((await rest(first, pieces)).equals(large)).toBe(true);
  });

  it("A file that grows while it is sent is sent up to the announced length", async () => {
    const { path, pieces, first } = await begin("growing.bin");
    await appendFile(path, "more");
    expect((await rest(first, pieces)).length).toBe(large.length);
  });

  it("A file that becomes shorter while it is sent breaks the stream", async () => {
    const { path, pieces, first } = await begin("shrinking.bin");
    await truncate(path, first.length + 10);
    await expect(rest(first, pieces)).rejects.toThrow("became shorter");
    expect(await openDescriptors()).toEqual([]);
  });
});

describe("the descriptor of a streamed file", () => {
  const open = async () => {
    const response = await sendFile(fakeRequest("GET"), Response.file(join(root, "large.bin")));
    return response.body as AsyncIterableIterator<Uint8Array>;
  };

  it.skipIf(process.platform !== "linux")("The descriptor of a streamed file is open while it is needed", async () => {
    const pieces = await open();
    expect(await openDescriptors()).toEqual([join(root, "large.bin")]);
    await pieces.return!();
    expect(await openDescriptors()).toEqual([]);
  });

  it("The descriptor of a streamed file is closed when the client disconnects", async () => {
    for await (const _ of await open()) break;
    expect(await openDescriptors()).toEqual([]);
  });

  it("The descriptor of a streamed file is closed when the client disconnects during a read", async () => {
    const pieces = await open();
    const pending = pieces.next();
    await pieces.return!();
    await pending.catch(() => {});
    expect(await openDescriptors()).toEqual([]);
    expect((await pieces.next()).done).toBe(true);
  });

  it("The descriptor of a streamed file is closed with the last piece", async () => {
    const pieces = await open();
    for (let received = 0; received < large.length; ) received += ((await pieces.next()).value as Uint8Array).length;
    expect(await openDescriptors()).toEqual([]);
  });
});

describe("the options of a file", () => {
  const headers = async (options: FileOptions) => (await get("letters.txt", {}, options)).headers;

  it("The options of a file set type, name, caching and validators", async () => {
    expect(await headers({ contentType: "text/x-own" })).toMatchObject({ "content-type": "text/x-own" });
    expect(await headers({ maxAge: 60 })).toMatchObject({ "cache-control": "max-age=60" });
    expect(await headers({ maxAge: "2h" })).toMatchObject({ "cache-control": "max-age=7200" });
    const cacheControl = "public, max-age=31536000, immutable";
    expect(await headers({ cacheControl, maxAge: 1 })).toMatchObject({ "cache-control": cacheControl });
    expect(await headers({ etag: 'W/"own"' })).toMatchObject({ etag: 'W/"own"' });
    const date = new Date("2020-02-03T04:05:06.789Z");
    expect(await headers({ lastModified: date })).toMatchObject({ "last-modified": "Mon, 03 Feb 2020 04:05:06 GMT" });
    const bare = await headers({ etag: false, lastModified: false });
    expect(bare["etag"]).toBeUndefined();
    expect(bare["last-modified"]).toBeUndefined();
  });

  it("The option download offers the file for saving", async () => {
    const disposition = async (options: FileOptions) => (await headers(options))["content-disposition"];
    expect(await disposition({})).toBeUndefined();
    expect(await disposition({ download: false })).toBeUndefined();
    expect(await disposition({ download: true })).toBe('attachment; filename="letters.txt"');
    expect(await disposition({ download: "b.txt" })).toBe('attachment; filename="b.txt"');
    expect(await disposition({ download: true, filename: "c.txt" })).toBe('attachment; filename="c.txt"');
    expect(await disposition({ filename: "c.txt" })).toBe('inline; filename="c.txt"');
    expect(await disposition({ download: "a\r\nSet-Cookie: x=1" })).toBe('attachment; filename="a__Set-Cookie: x=1"');
  });

  it.each<[string, object, RegExp]>([
    ["an unknown option", { maxage: 1 }, /did you mean 'maxAge'/],
    ["a type with a line break", { contentType: "text/html\r\nX: 1" }, /option 'contentType'.*sent in a header/],
    ["a Cache-Control with a line break", { cacheControl: "a\nb" }, /option 'cacheControl'/],
    ["a tag without quotes", { etag: "v1" }, /option 'etag'.*entity tag in double quotes/],
    ["an invalid date", { lastModified: new Date("x") }, /option 'lastModified'.*valid Date/],
    ["a negative age", { maxAge: -1 }, /option 'maxAge'/],
    ["a status that is none", { status: 99 }, /option 'status'/],
    ["a header with a line break", { headers: { "X-A": "a\r\nb" } }, /header 'X-A'/],
    ["another word for dotfiles", { dotfiles: "ignore" }, /option 'dotfiles'.*"allow", "deny"/],
  ])("The options of a file refuse %s at once", (_, options, message) => {
    expect(() => Response.file("x", options as FileOptions)).toThrow(ValueError);
    expect(() => Response.file("x", options as FileOptions)).toThrow(message);
  });

  it("A URL that is not a file URL is refused", () => {
    expect(() => Response.file(new URL("https://a.example/x"))).toThrow("a file: URL");
  });
});
