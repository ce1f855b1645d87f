import { scoresApp } from "./app.js";

const { url } = await scoresApp({ url: process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379" }).run();

if (process.stdout.isTTY) {
  console.log(`Try, in another terminal:

  curl ${url}/points -H 'Content-Type: application/json' -d '{"player":"ada","points":10}'
  curl ${url}/top
  curl -X POST ${url}/season/end
`);
}
