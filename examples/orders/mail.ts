import { type App, sql } from "stoa";
import type { Job } from "stoa/jobs";
import { z } from "zod";

const Mail = z.object({ to: z.email(), subject: z.string() });

export type Mail = z.infer<typeof Mail>;

/** The job that sends mails; here into a table. It is tried again until the mail server takes the mail. */
export function mailJob(app: App): Job<Mail> {
  return app.job("mail", { schema: Mail, retries: 10 }, async ({ to, subject }) => {
    await app.database.execute(sql`insert into mails values (${to}, ${subject})`);
  });
}
