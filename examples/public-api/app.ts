import { App, Response } from "stoa";

/** An interface that scripts of one site may use with their users' cookies, and whose requests can be followed. */
export function publicApi(site = "http://localhost:3000"): App {
  const app = new App();
  app.enableRequestId();
  app.enableCors({ origins: [site], credentials: true, exposeHeaders: ["X-Request-ID"] });
  app.enableBodyLimit(64 * 1024);

  const notes = new Map<string, string>();

  app.get("/notes/{name}", (request) => {
    const text = notes.get(request.params.name);
    return text === undefined ? Response.json({ error: "No such note" }, { status: 404 }) : { text };
  });

  app.put("/notes/{name}", (request) => {
    const text = request.json<{ text?: unknown } | null>()?.text;
    if (typeof text !== "string") return Response.json({ error: "text must be a string" }, { status: 400 });
    notes.set(request.params.name, text);
    request.log.info("note saved", { size: text.length });
    return { text };
  });

  // The picture of a day may be large.
  app.post("/pictures", { bodyLimit: 5 * 1024 * 1024 }, (request) => ({ bytes: request.bytes().length }));
  return app;
}
