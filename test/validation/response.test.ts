import { Response as Answer, App, createLogger } from "stoa";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";

const Book = z.object({ title: z.string(), at: z.date().optional() });
const secret = "hunter2-s3cret";

function app(env: "development" | "production", handler: () => unknown, response: z.ZodType = Book) {
  vi.stubEnv("STOA_ENV", env);
  try {
    const lines: string[] = [];
    const made = new App();
    made.logger = createLogger({ format: "json", sink: { write: (line: string) => void lines.push(line) } as never });
    made.get("/books/{id}", { response }, handler as () => never);
    return { app: made, lines, get: () => made.request("/books/1") };
  } finally {
    vi.unstubAllEnvs();
  }
}

describe("a response with a schema", () => {
  it("is what the schema makes of the result", async () => {
    const at = new Date(0);
    const { get } = app("production", () => ({ title: "Emma", password: secret, at }));
    expect(await (await get()).json()).toEqual({ title: "Emma", at: "1970-01-01T00:00:00.000Z" });
    const later = app("production", async () => ({ title: "Emma", password: secret }));
    expect(await (await later.get()).json()).toEqual({ title: "Emma" });
  });

  it.each(["sync", "async"])(
    "that the result of a %s handler breaks is 500 in development, naming the route and what is wrong",
    async (kind) => {
      const wrong = { title: 5, password: secret };
      const { get, lines } = app("development", kind === "sync" ? () => wrong : async () => wrong);
      const response = await get();
      expect(response.status).toBe(500);
      const { error } = (await response.json()) as { error: string };
      expect(error).toContain(
        "ResponseValidationError: the response of GET /books/{id} breaks its schema: " +
          "response.title: Invalid input: expected string, received number (invalid_type)",
      );
      expect(lines.join()).not.toContain(secret);
    },
  );

  it("that the result breaks is logged in production, and the result sent as it is", async () => {
    const { get, lines } = app("production", () => ({ title: secret.length, password: secret }));
    expect(await (await get()).json()).toEqual({ title: secret.length, password: secret });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("the response of GET /books/{id} breaks its schema");
    expect(lines[0]).not.toContain(secret);
  });

  it("is not asked of what says itself how it is sent", async () => {
    const finished = [
      () => Answer.json({ error: "no" }, 404),
      () => new Response("web"),
      () => new Uint8Array([1]),
      async function* () {
        yield "streamed";
      },
    ];
    for (const handler of finished) expect((await app("development", handler).get()).status).not.toBe(500);
    const failed = app("development", () => new TypeError("mine"));
    expect(((await (await failed.get()).json()) as { error: string }).error).toContain("TypeError: mine");
  });

  it("is broken by a result that is missing, unless it takes that", async () => {
    expect((await app("development", () => undefined).get()).status).toBe(500);
    expect((await app("development", () => undefined, z.void()).get()).status).toBe(204);
  });

  it("may be asynchronous", async () => {
    const later = z.object({ title: z.string().refine(async (title) => title !== "no", "must not be") });
    expect((await app("development", () => ({ title: "yes" }), later).get()).status).toBe(200);
    expect((await app("development", () => ({ title: "no" }), later).get()).status).toBe(500);
  });

  it("must be a schema", async () => {
    const made = new App();
    made.get("/", { response: { title: "string" } as never }, () => "" as never);
    await expect(made.start()).rejects.toThrow("'response' of GET / must be a schema");
  });
});
