import { randomBytes } from "node:crypto";
import { App, type Request, Response } from "stoa";

declare module "stoa" {
  interface SessionData {
    user?: string;
    notes?: string[];
  }
}

/** Pages with a login: sessions in an encrypted cookie, and forms that no other site can send. */
export function sessionsApp(secret: string | Buffer = process.env["SESSION_SECRET"] ?? randomBytes(32)): App {
  const app = new App();
  app.enableSessions({ secret, idleTimeout: 1800 });
  app.enableCsrf({ tokens: true });

  app.get("/", (request) => {
    const user = request.session.get("user");
    return page(user === undefined ? loginForm(request) : notesOf(request, user));
  });

  app.post("/login", (request) => {
    const name = String(request.form().get("name") ?? "").trim();
    if (name === "") return page(`<p>Who are you?</p>${loginForm(request)}`, 400);
    request.session.regenerate();
    request.session.set("user", name);
    return Response.redirect("/", 303);
  });

  app.post("/notes", (request) => {
    const notes = request.session.get("notes") ?? [];
    request.session.set("notes", [...notes, String(request.form().get("note") ?? "")].slice(-10));
    return Response.redirect("/", 303);
  });

  app.post("/logout", (request) => {
    request.session.destroy();
    return Response.redirect("/", 303);
  });
  return app;
}

function loginForm(request: Request): string {
  return form(request, "/login", '<input name="name" placeholder="Your name"><button>Log in</button>');
}

function notesOf(request: Request, user: string): string {
  const notes = request.session.get("notes") ?? [];
  return `<p>Hello, ${escapeText(user)}.</p>
    <ul>${notes.map((note) => `<li>${escapeText(note)}</li>`).join("")}</ul>
    ${form(request, "/notes", '<input name="note"><button>Add</button>')}
    ${form(request, "/logout", "<button>Log out</button>")}`;
}

function form(request: Request, action: string, fields: string): string {
  const token = `<input type="hidden" name="_csrf" value="${request.csrfToken()}">`;
  return `<form method="post" action="${action}">${token}${fields}</form>`;
}

function page(content: string, status = 200): Response {
  return Response.html(`<!doctype html><title>Notes</title><h1>Notes</h1>${content}`, status);
}

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
