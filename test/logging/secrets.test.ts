import { describe, expect, it } from "vitest";
import { createLogger } from "../../src/logging/create-logger.js";
import { hideUrlPasswords, isSecretName } from "../../src/logging/secrets.js";
import { collect } from "./collect.js";

describe("secrets", () => {
  it.each([
    "authorization",
    "Authorization",
    "proxy-authorization",
    "cookie",
    "Set-Cookie",
    "password",
    "passwd",
    "db_password",
    "passwordHash",
    "token",
    "accessToken",
    "refresh_token",
    "tokens",
    "secret",
    "client_secret",
    "secretKey",
    "X-Api-Key",
    "api_key",
    "privateKey",
    "credentials",
  ])("The name %s is that of a secret", (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  it.each(["path", "user", "token_type", "tokenCount", "key", "author", "pass"])(
    "The name %s is not that of a secret",
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  it.each(["json", "pretty"] as const)("Secrets are left out of %s lines at every depth", (format) => {
    const sink = collect();
    const error = Object.assign(new Error("cannot connect to postgres://app:s3cret-1@db/x"), {
      config: { headers: { Authorization: "Bearer s3cret-2" } },
    });
    createLogger({ sink, format })
      .child({ password: "s3cret-3" })
      .error("redis://:s3cret-4@cache", {
        error,
        headers: { cookie: ["s3cret-5"], accept: "*/*" },
        url: "amqp://u:s3cret-6@mq",
      });
    expect(sink.text).not.toContain("s3cret");
    expect(sink.text).toContain("[redacted]");
    expect(sink.text).toContain("*/*");
  });

  it("URLs without a password are unchanged", () => {
    for (const url of ["http://a:8080/@scope/x", "https://user@host/", "http://[::1]:80/a@b", "mailto:a@b"]) {
      expect(hideUrlPasswords(url)).toBe(url);
    }
  });
});
