import { booksApp } from "./app.js";

const { url } = await booksApp().run();

if (process.stdout.isTTY) {
  console.log(`Try, in another terminal:

  curl ${url}/books
  curl -X POST ${url}/books -H 'content-type: application/json' -d '{"title": "Emma", "genre": "Novel", "year": 1815}'
  curl ${url}/books/1
  curl '${url}/books?genre=novel'
  curl -X PUT ${url}/books/1 -H 'content-type: application/json' -d '{"author": "Jane Austen"}'
  curl -X DELETE ${url}/books/1
`);
}
