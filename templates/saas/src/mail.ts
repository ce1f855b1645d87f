import type { App } from "stoa";
import type { Job } from "stoa/jobs";
import { z } from "zod";

const Mail = z.object({ to: z.email() });

export type WelcomeMail = Job<z.infer<typeof Mail>>;

/** The job that greets a new account. It is tried again until the mail is sent. */
export function welcomeMail(app: App): WelcomeMail {
  return app.job("welcome-mail", { schema: Mail, retries: 10 }, async ({ to }, { id }) => {
    // Send the mail here. The id is the same in every attempt: a mail service can use it to send once.
    app.logger.info("welcome mail", { to, id });
  });
}
