import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { App, Authenticated, Blueprint, Depends, Response, UnauthorizedError } from "stoa";
import { z } from "zod";

/** A little of everything the core can do. */
export function tourApp(): App {
  const app = new App();
  app.registerSingleton("clock", { now: () => new Date() });
  app.registerScoped("visitor", (request) => request.headers.get("x-visitor") ?? "stranger");

  // Dependencies and validated input are injected, typed.
  app.post(
    "/greetings",
    {
      body: z.object({ text: z.string().min(1) }),
      inject: { clock: Depends<{ now(): Date }>("clock"), visitor: Depends<string>("visitor") },
      status: 201,
    },
    (_request, { body, clock, visitor }) => ({ from: visitor, text: body.text, at: clock.now() }),
  );

  // A guard over a group of routes; the middleware before it says who calls.
  const members = new Blueprint("/members", { guards: [Authenticated()], tags: ["members"] });
  members.use({
    early: true,
    before(request) {
      const user = request.headers.get("x-user");
      if (user) request.context.user = user;
    },
  });
  members.get("/me", (request) => ({ user: request.context.user }));
  app.registerBlueprint(members);

  // Events until the client leaves.
  app.get("/ticks", (request) =>
    Response.sse(async function* (signal) {
      const every = Number(request.query.get("every") ?? 1000);
      for (let n = 1; !signal.aborted; n++) {
        yield { event: "tick", id: String(n), data: { n } };
        await new Promise((resolve) => setTimeout(resolve, every));
      }
    }),
  );

  // An upload of any size, part by part, never in memory.
  app.post("/uploads", { stream: true, bodyLimit: 1024 ** 3 }, async (request) => {
    const files = [];
    for await (const part of request.parts()) {
      if (!part.isFile) continue;
      const hash = createHash("sha256");
      let size = 0;
      for await (const piece of part.stream()) {
        hash.update(piece);
        size += piece.length;
      }
      files.push({ name: part.filename, size, sha256: hash.digest("hex") });
    }
    return { files };
  });

  // A file, with ranges and conditions.
  app.get("/source", () => Response.file(fileURLToPath(import.meta.url), { contentType: "text/plain; charset=utf-8" }));

  // Errors of a class and its descendants.
  app.exceptionHandler(UnauthorizedError, () => Response.json({ error: "Say who you are: X-User" }, 401));
  return app;
}
