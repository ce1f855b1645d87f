import { Blueprint, HttpError } from "stoa";
import { z } from "zod";
import { NewNote, Note, type NoteStore } from "./note-store.js";

const Id = z.object({ id: z.int().min(1) });
const Page = z.object({ limit: z.int().min(1).max(100).default(20) });

export function noteRoutes(notes: NoteStore): Blueprint<"/notes"> {
  const routes = new Blueprint("/notes", { tags: ["notes"] });

  routes.get("/", { summary: "List notes", query: Page, response: z.array(Note) }, (_request, { query }) =>
    notes.list(query.limit),
  );

  routes.post(
    "/",
    { summary: "Add a note", body: NewNote, response: Note, status: 201, responses: { 409: "There is no room" } },
    (request, { body }) => {
      if (notes.isFull) throw new HttpError(409, `There are ${notes.limit} notes already.`);
      const note = notes.add(body.text);
      request.log.info("note added", { note: note.id });
      return note;
    },
  );

  routes.get("/{id}", { summary: "Read a note", params: Id, response: Note }, (_request, { params }) => {
    const note = notes.find(params.id);
    if (note === undefined) throw new HttpError(404, "There is no such note.");
    return note;
  });

  routes.delete("/{id}", { summary: "Delete a note", params: Id, status: 204 }, (_request, { params }) => {
    if (!notes.remove(params.id)) throw new HttpError(404, "There is no such note.");
  });

  return routes;
}
