import app from "./app.js";

const { url } = await app().run();

if (process.stdout.isTTY) {
  console.log(`Open ${url}/_stoa, and try, in another terminal:

  curl -X POST ${url}/orders -H 'content-type: application/json' \\
    -d '{"id": "o1", "customer": "Ann", "email": "ann@example.org", "sku": "cup", "quantity": 2}'
  curl ${url}/orders/o1/outcome
  curl ${url}/orders/o1
  curl ${url}/shipments
  curl ${url}/mails
`);
}
