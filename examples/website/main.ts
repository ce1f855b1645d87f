import { websiteApp } from "./app.js";

const { url } = await websiteApp().run();

if (process.stdout.isTTY) {
  console.log(`Open ${url}/ in a browser, or try, in another terminal:

  curl -i ${url}/guide/
  curl -i --compressed '${url}/primes?limit=10000'
  curl -i -H 'if-none-match: *' ${url}/primes
`);
}
