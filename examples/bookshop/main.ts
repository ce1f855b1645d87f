import { fileURLToPath } from "node:url";
import { bookshopApp } from "./app.js";

const folder = fileURLToPath(new URL("./data", import.meta.url));
const inMemory = process.argv.includes("--memory");
const database = process.env["DATABASE_URL"] ?? (inMemory ? "pglite:" : `pglite:${folder}`);

const { url } = await bookshopApp({ database, seed: true }).run();

if (process.stdout.isTTY) {
  console.log(`Open ${url}/docs, and try, in another terminal:

  curl '${url}/books?tags__name=sf&price__lte=12&order=-price'
  curl '${url}/books/newest?size=2'
  curl -X POST ${url}/orders -H 'content-type: application/json' \\
    -d '{"customer": "Ann", "email": "ann@example.org", "lines": [{"bookId": 2, "quantity": 1}]}'
  curl ${url}/reports/bestsellers
`);
}
