import { createTransport } from "nodemailer";
import type { Meter } from "stoa/feature";
import type { MailConfig } from "./config.js";

/** A mail to send. */
export interface Mail {
  readonly to: string | readonly string[];
  readonly subject: string;
  readonly text?: string;
  readonly html?: string;
  /** The sender, where it is not that of the options. */
  readonly from?: string;
  readonly replyTo?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends mails over a few connections that stay open. */
export class Mailer {
  readonly #transport;
  readonly #from: string;
  readonly #count: (result: "sent" | "failed") => void;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(settings: MailConfig, meter: Meter | null) {
    const timeout = settings.timeout * 1000;
    const limits = { connectionTimeout: timeout, greetingTimeout: timeout, socketTimeout: timeout };
    const user = settings.user === undefined ? {} : { auth: { user: settings.user, pass: settings.password } };
    const { host, port, secure, maxConnections } = settings;
    this.#transport = createTransport({ host, port, secure, pool: true, maxConnections, ...limits, ...user });
    this.#from = settings.from;
    const counter = { help: "Mails by their result.", labels: ["result"] } as const;
    const counted = meter?.metrics.counter(meter.named("mails_total"), counter);
    this.#count = (result) => counted?.inc({ result });
  }

  /** Sends a mail. Resolves to its id when the server has accepted it for every recipient. */
  send(mail: Mail): Promise<string> {
    const sending = this.#send(mail);
    this.#underWay.add(sending);
    const ended = (): unknown => this.#underWay.delete(sending);
    sending.then(ended, ended);
    return sending;
  }

  /** Connects, says hello and logs in. */
  async check(): Promise<void> {
    await this.#transport.verify();
  }

  /** Waits for the mails under way. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  close(): void {
    this.#transport.close();
  }

  async #send({ to, ...mail }: Mail): Promise<string> {
    try {
      const info = await this.#transport.sendMail({ from: this.#from, ...mail, to: [to].flat() });
      if (info.rejected.length > 0) throw new Error(`the mail server has refused ${info.rejected.join(", ")}`);
      this.#count("sent");
      return info.messageId;
    } catch (error) {
      this.#count("failed");
      throw error;
    }
  }
}
