import { testClient } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { scoresApp } from "../../examples/scores/app.js";
import { service } from "../support/service.js";

describe.skipIf(!service("redis"))("the leaderboard", () => {
  it("The leaderboard is shared by all processes", async () => {
    const options = { url: service("redis")!, prefix: `test:${Math.random()}:` };
    await using one = testClient(scoresApp(options));
    await using two = testClient(scoresApp(options));
    const add = (player: string, points: number) => one.post("/points", { json: { player, points } });
    await add("ada", 10);
    await add("bob", 7);
    expect(await (await add("ada", 5)).json()).toEqual({ player: "ada", score: 15 });
    expect(await (await two.get("/top")).json()).toEqual([
      { member: "ada", score: 15 },
      { member: "bob", score: 7 },
    ]);
    expect(await (await two.get("/players/bob")).json()).toEqual({ player: "bob", score: 7, rank: 2 });
    expect((await two.get("/players/eve")).status).toBe(404);
    expect((await add("", 5)).status).toBe(422);
    const ends = await Promise.all([one.post("/season/end"), two.post("/season/end")]);
    const winnerOf = async (end: Response): Promise<unknown> => ((await end.json()) as { winner?: string }).winner;
    const winners = await Promise.all(ends.map(winnerOf));
    expect(winners.filter((winner) => winner === "ada")).toHaveLength(1);
    expect(await (await two.get("/top")).json()).toEqual([]);
  });
});
