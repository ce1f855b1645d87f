import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rootCertificates } from "node:tls";

/**
 * Node reads the certificates of `NODE_EXTRA_CA_CERTS` at each start, which can take three times as long as the start itself.
 * Of what a test starts, npm alone needs them: it gets them by a setting of its own.
 */
export function leaveAuthoritiesToNpm(env, folder) {
  const { NODE_EXTRA_CA_CERTS: extra } = env;
  if (!extra || !existsSync(extra)) return;
  const file = join(folder, "authorities.pem");
  writeFileSync(file, [...rootCertificates, readFileSync(extra, "utf8")].join("\n"));
  env.npm_config_cafile ??= file;
  delete env.NODE_EXTRA_CA_CERTS;
}
