import { Blueprint } from "stoa";
import { listOptions, orConflict, orNotFound } from "stoa/orm";
import { z } from "zod";
import { accountOf } from "./accounts.js";
import { Project } from "./models.js";

/** PostgreSQL stores no U+0000 and no half of a surrogate pair. */
const name = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((text) => !/[\0\p{Surrogate}]/u.test(text), "contains a character that cannot be stored");
const NewProject = z.object({ name });
const Id = z.object({ id: z.int().min(1).max(2_147_483_647) });

/** Each query has the owner in it: nobody sees that projects of others exist. */
export function projectRoutes(): Blueprint<"/projects"> {
  const routes = new Blueprint("/projects", { tags: ["projects"] });

  routes.get("/", { summary: "Your projects", ...listOptions(Project, { pages: false }) }, (request) =>
    Project.objects.filter({ ownerId: accountOf(request) }).limit(100),
  );

  routes.post(
    "/",
    {
      summary: "Add a project",
      body: NewProject,
      response: Project,
      status: 201,
      responses: { 409: "The name is taken" },
    },
    (request, { body }) =>
      orConflict(Project.objects.create({ ...body, ownerId: accountOf(request) }), "You have a project of this name."),
  );

  routes.get("/{id}", { summary: "Read a project", params: Id, response: Project }, (request, { params }) =>
    orNotFound(Project.objects.get({ id: params.id, ownerId: accountOf(request) })),
  );

  routes.delete("/{id}", { summary: "Delete a project", params: Id, status: 204 }, async (request, { params }) => {
    const project = await orNotFound(Project.objects.get({ id: params.id, ownerId: accountOf(request) }));
    await project.delete();
  });

  return routes;
}
