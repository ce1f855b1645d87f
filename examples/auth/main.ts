import { authApp } from "./app.js";

const { url } = await (await authApp()).run();

if (process.stdout.isTTY) {
  console.log(`Try, in another terminal:

  curl -i ${url}/me
  TOKEN=$(curl -s ${url}/login -d name=ada -d password=lovelace | cut -d'"' -f4)
  curl ${url}/me -H "Authorization: Bearer $TOKEN"
  curl ${url}/admin -H "Authorization: Bearer $TOKEN"
  curl -X POST ${url}/logout -H "Authorization: Bearer $TOKEN"
  curl -i ${url}/me -H "Authorization: Bearer $TOKEN"
  curl ${url}/me -H 'X-API-Key: reports-key-for-development'
`);
}
