import { JwtAuth } from "stoa";
import { describe, expect, it } from "vitest";

describe("two tokens that were made from one within the grace", () => {
  it("The revocation of a refreshed token ends the other one that was made from the same token", async () => {
    const auth = new JwtAuth({ secret: "s".repeat(32), refreshAge: 0 });
    const first = auth.createToken({ sub: "ada" });
    const own = await auth.refresh(first);
    const stolen = await auth.refresh(first);
    expect((await auth.verify(stolen)).sub).toBe("ada");
    await auth.revoke(own);
    await expect(auth.verify(stolen)).rejects.toThrow("invalid");
    await expect(auth.refresh(stolen)).rejects.toThrow("invalid");
  });
});
