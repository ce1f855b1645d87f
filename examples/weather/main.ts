import { setTimeout } from "node:timers/promises";
import { weatherApp } from "./app.js";

const app = weatherApp(async (city) => {
  await setTimeout(500);
  if (Math.random() < 0.3) throw new Error("no answer");
  return { city, celsius: Math.round(Math.random() * 30) };
});

const { url } = await app.run();

if (process.stdout.isTTY) {
  console.log(`Try, in another terminal:

  curl -i ${url}/forecast/athens         # again: X-Cache: HIT, Age
  curl -X POST ${url}/refresh -H 'X-Operator: let me in'
  for city in a b c d e f g h; do curl -s ${url}/forecast/$city; echo; done
  curl ${url}/circuits
`);
}
