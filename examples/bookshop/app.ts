import { App } from "stoa";
import { authors } from "./authors.js";
import { books } from "./books.js";
import { answerErrors } from "./errors.js";
import { orders, reports } from "./orders.js";
import { seed } from "./seed.js";

export interface BookshopOptions {
  /** Where the data is: `postgres://...`, `pglite:` in memory, `pglite:./folder`. */
  readonly database: string;
  /** Fills an empty shop with some books. */
  readonly seed?: boolean;
}

export const migrations: URL = new URL("./migrations/", import.meta.url);

/** A shop with a catalogue, a stock and orders, on PostgreSQL or embedded. */
export function bookshopApp(options: BookshopOptions): App {
  const app = new App();
  app.enableDatabase(options.database);
  app.enableHealthChecks();
  app.enableMigrations(migrations);
  if (options.seed) app.onEvent("startup", () => seed(app.database));

  answerErrors(app);
  for (const routes of [authors(), books(), orders(), reports()]) app.registerBlueprint(routes);

  app.enableOpenapi({
    title: "Bookshop",
    version: "1.0.0",
    description: "A catalogue, its stock, and orders that take from it.",
    tags: { authors: "Who writes", books: "What there is", orders: "What is sold", reports: "What sells" },
  });
  return app;
}
