import type { HealthResult } from "../../batteries/health/check.js";
import type { OutboxEngine } from "./outbox.js";

/** DEGRADED while messages are stuck or wait for too long: the application itself serves on. */
export async function outboxHealth({ admin, settings }: OutboxEngine): Promise<HealthResult> {
  const { stuck, lag } = await admin.status();
  const reasons = [
    ...(stuck > 0 ? [`${stuck} ${stuck === 1 ? "message is" : "messages are"} stuck`] : []),
    ...(lag > settings.lagLimit ? [`the oldest message has waited for ${Math.round(lag)} s`] : []),
  ];
  return reasons.length === 0 ? "UP" : { status: "DEGRADED", message: reasons.join("; ") };
}
