import { App } from "stoa";

/** The code of the sections about the query log and replicas in docs/database.md. */
export function loggedApps(): void {
  {
    const app = new App();
    app.enableDatabase({ url: "postgres://localhost/shop", logQueries: true });
  }
  {
    const app = new App();
    app.enableDatabase({
      url: "postgres://localhost/shop",
      logQueries: { slow: "500ms", slowOnly: true, explain: true },
    });
  }
}

export function replicatedApp(): App {
  const app = new App();
  app.enableDatabase({
    url: "postgres://app:secret@primary/shop",
    replicas: ["postgres://replica-1", "postgres://replica-2"],
    maxReplicaLag: 5,
  });
  readOwnWrites(app);
  return app;
}

/** A client reads its own writes in later requests. */
export function readOwnWrites(app: App): void {
  app.use(async (request, next) => {
    request.db.readAfter(request.cookies.get("seen"));
    const response = await next();
    if (request.method !== "GET")
      response.cookie("seen", await request.db.writePosition(), { maxAge: 60, httpOnly: true });
    return response;
  });
}
