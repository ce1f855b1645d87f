import { App, HttpError, RateLimitConfig } from "stoa";

/** Where forecasts come from: slow, and sometimes away. */
export type Forecasts = (city: string) => Promise<{ city: string; celsius: number }>;

/** A service before another that must not be asked too often: a limit for clients, a cache, and a circuit breaker. */
export function weatherApp(forecasts: Forecasts): App {
  const app = new App();
  app.enableRateLimit(RateLimitConfig.tokenBucket(60, 60));
  app.enableCircuitBreaker({ failureThreshold: 3, resetTimeout: 10 });

  app.get(
    "/forecast/{city}",
    {
      summary: "The forecast of a city",
      // Ten minutes old at most; an hour old while the source is away; made again once, however many ask.
      cache: { ttl: 600, staleIfError: 3600, tags: ["forecasts"] },
    },
    async (request) => {
      try {
        return await forecasts(request.params.city);
      } catch (cause) {
        throw new HttpError(502, "The source of forecasts cannot be reached.", { cause });
      }
    },
  );

  // Whoever guesses at this gets five tries a minute, whatever else is allowed.
  app.post("/refresh", { rateLimit: RateLimitConfig.slidingWindow(5, 60) }, async (request) => {
    if (request.headers.get("x-operator") !== "let me in") throw new HttpError(403);
    return { forgotten: await app.invalidateCache(["forecasts"]) };
  });

  app.get("/circuits", { rateLimit: false, circuitBreaker: false }, () => app.circuitBreakers());
  return app;
}
