import { engine, meterOf } from "stoa/feature";
import { MailConfig } from "./config.js";
import type { Mailer } from "./mailer.js";

export type { Mail, Mailer } from "./mailer.js";
export { MailConfig };

/**
 * Mail over SMTP: `app.install(mail, { from: "shop@example.com" })` adds `app.mail` and `request.mail`. An application starts
 * and is ready without its mail server, DEGRADED.
 */
export const mail = engine({
  name: "mail",
  config: MailConfig,
  async open(settings, host): Promise<Mailer> {
    const { Mailer } = await import("./mailer.js");
    const mailer = new Mailer(settings, meterOf(host));
    try {
      await mailer.check();
    } catch (cause) {
      mailer.close();
      throw new Error(`the mail server ${settings.host}:${settings.port} does not accept mail`, { cause });
    }
    return mailer;
  },
  ping: (mailer) => mailer.check(),
  drain: (mailer) => mailer.drain(),
  close: (mailer) => mailer.close(),
  required: false,
});

declare module "stoa/feature" {
  interface RequestMembers {
    /** Sends mails. */
    readonly mail: Mailer;
  }
}
