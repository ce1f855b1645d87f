import { Blueprint } from "stoa";
import { count, partial } from "stoa/orm";
import { Author } from "./models.js";
import { ErrorBody, Id } from "./schemas.js";
import { sortNameOf } from "./sort-name.js";

const missing = { 404: { description: "No author has this id", schema: ErrorBody } } as const;

export function authors(): Blueprint<"/authors"> {
  const routes = new Blueprint("/authors", { tags: ["authors"] });

  routes.get("/", { summary: "All authors, with the number of their books" }, () =>
    Author.objects.annotate({ bookCount: count("books") }),
  );

  routes.post("/", { summary: "Add an author", body: Author, response: Author, status: 201 }, (_request, { body }) =>
    Author.objects.create({ ...body, sortName: sortNameOf(body.name) }),
  );

  routes.get("/{id}", { summary: "One author with their books", params: Id, responses: missing }, (_, { params }) =>
    Author.objects.prefetchRelated("books").get({ id: params.id }),
  );

  routes.patch(
    "/{id}",
    { summary: "Change an author", params: Id, body: partial(Author), response: Author, responses: missing },
    async (_request, { params, body }) => {
      const author = await Author.objects.get({ id: params.id });
      if (body.name !== undefined) author.sortName = sortNameOf(body.name);
      await Object.assign(author, body).save();
      return author;
    },
  );

  routes.delete(
    "/{id}",
    {
      summary: "Remove an author who has no books",
      params: Id,
      status: 204,
      responses: { ...missing, 409: { description: "There are books of this author", schema: ErrorBody } },
    },
    async (_request, { params }) => {
      await (await Author.objects.get({ id: params.id })).delete();
    },
  );

  return routes;
}
