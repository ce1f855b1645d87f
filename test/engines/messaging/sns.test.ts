import { startFauxqs } from "fauxqs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadSns } from "../../../src/engines/messaging/sqs/library.js";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { fanOutSuite } from "./sns-suite.js";

const moto = isLong ? service("moto") : undefined;

describe("SNS as fauxqs emulates it", () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server.stop());
  fanOutSuite("fauxqs", () => server.address);

  it("The client library of SNS is named if it is missing", async () => {
    const cause = Object.assign(new Error("Cannot find package '@aws-sdk/client-sns'"), {
      code: "ERR_MODULE_NOT_FOUND",
    });
    await expect(loadSns(() => Promise.reject(cause))).rejects.toThrow(
      "the option 'fanOut' of enableCloudQueue needs the package '@aws-sdk/client-sns': npm install @aws-sdk/client-sns",
    );
  });
});

describe.skipIf(!moto)("SNS as Moto emulates it", () => fanOutSuite("Moto", () => moto!));
