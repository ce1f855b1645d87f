import { App, HttpError, KvStoreError, type KvStoreOptions, RateLimitConfig, Response } from "stoa";
import { z } from "zod";

const Points = z.object({ player: z.string().min(1).max(40), points: z.int().min(1).max(1000) });

/** A leaderboard that any number of processes serve together: scores, limits and the lock are in the key-value store. */
export function scoresApp(options: KvStoreOptions = {}): App {
  const app = new App();
  app.enableKvstore({ prefix: "scores:", ...options });
  app.enableRateLimit(RateLimitConfig.slidingWindow(100, 60));

  app.post("/points", { body: Points, summary: "Adds points of a player" }, async (request, { body }) => {
    const { player, points } = body;
    const score = await request.kv.sortedSet("season").incr(player, points);
    await request.kv.publish("points", JSON.stringify({ player, score }));
    return { player, score };
  });

  app.get("/top", { summary: "The ten best players" }, (request) =>
    request.kv.sortedSet("season").range({ reverse: true, stop: 9 }),
  );

  app.get("/players/{player}", { summary: "Score and rank of a player" }, async (request) => {
    const { player } = request.params;
    const [score, rank] = await request.kv.pipeline((p) => [
      p.sortedSet("season").score(player),
      p.sortedSet("season").rank(player, { reverse: true }),
    ]);
    if (score === null || rank === null) throw new HttpError(404, "This player has no points.");
    return { player, score, rank: rank + 1 };
  });

  // However many processes are asked at once, one of them ends the season.
  app.post("/season/end", async (request) => {
    const best = await request.kv.lock("season", { ttl: 5 }, async () => {
      const [first] = await request.kv.sortedSet("season").range({ reverse: true, stop: 0 });
      if (first) await request.kv.list("winners").push(first.member);
      await request.kv.delete("season");
      return first ?? null;
    });
    return { winner: best?.member ?? null };
  });
  app.exceptionHandler(KvStoreError, (_request, { code }) =>
    code === "LOCKED"
      ? Response.json({ error: "The season is being ended." }, 409)
      : Response.json({ error: "Scores are away for a moment." }, 503),
  );
  return app;
}
