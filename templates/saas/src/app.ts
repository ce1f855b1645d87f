import { App, createLogger, JwtAuth } from "stoa";
import { accountRoutes } from "./accounts.js";
import { welcomeMail } from "./mail.js";
import { projectRoutes } from "./projects.js";
import { readSettings, type Settings } from "./settings.js";

/** Creates the application without starting it: each test has its own. */
export default function createApp(settings: Settings = readSettings()): App {
  const app = new App();
  app.logger = createLogger({ level: settings.LOG_LEVEL });
  app.enableDatabase(settings.DATABASE_URL);
  app.enableLogging().enableRequestId().enableSecurityHeaders().enableHealthChecks();
  app.enableRateLimit({ maxRequests: 300, windowSecs: 60 });
  app.enableOpenapi({ title: "my-app", version: "1.0.0" });

  // Every route needs a token, except for those below these paths.
  const jwt = new JwtAuth({ secret: settings.JWT_SECRET, expiration: settings.TOKEN_SECONDS });
  app.use(jwt.skipPath("/signup", "/login", "/docs", "/redoc", "/openapi.json"));

  const parts = { database: app.database, jwt, welcome: welcomeMail(app), perMinute: settings.LOGINS_PER_MINUTE };
  app.registerBlueprint(accountRoutes(parts));
  app.registerBlueprint(projectRoutes());
  return app;
}
