import { App, createLogger } from "stoa";
import { noteRoutes } from "./note-routes.js";
import { NoteStore } from "./note-store.js";
import { readSettings, type Settings } from "./settings.js";

/** Creates the application without starting it: each test has its own. */
export default function createApp(settings: Settings = readSettings()): App {
  const app = new App();
  app.logger = createLogger({ level: settings.LOG_LEVEL });
  app.enableLogging().enableRequestId().enableSecurityHeaders().enableHealthChecks();
  app.enableOpenapi({ title: "my-app", version: "1.0.0" });
  if (settings.CORS_ORIGINS.length > 0) app.enableCors(settings.CORS_ORIGINS);
  app.registerBlueprint(noteRoutes(new NoteStore(settings.NOTE_LIMIT)));
  return app;
}
