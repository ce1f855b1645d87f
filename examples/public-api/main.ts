import { publicApi } from "./app.js";

const { url } = await publicApi().run();

if (process.stdout.isTTY) {
  console.log(`Try, in another terminal:

  curl -i -X PUT ${url}/notes/a -H 'content-type: application/json' -d '{"text": "remember"}'
  curl -i ${url}/notes/a -H 'x-request-id: my-own'
  curl -i ${url}/notes/a -H 'origin: http://localhost:3000'
  curl -i -X OPTIONS ${url}/notes/a -H 'origin: http://localhost:3000' -H 'access-control-request-method: PUT'
  head -c 100000 /dev/zero | curl -i -X PUT ${url}/notes/a --data-binary @-
`);
}
