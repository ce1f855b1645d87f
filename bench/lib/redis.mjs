import { services, startServices } from "../../scripts/services/index.mjs";

let starting;

/** The Redis server that all contestants share: private and temporary. Its address is in BENCH_REDIS. */
export async function startRedis(log) {
  starting ??= startServices(
    services.filter(({ name }) => name === "redis"),
    log,
  );
  const { env, unavailable } = await starting;
  if (unavailable.length > 0) throw new Error(`redis: ${unavailable[0].reason}`);
  process.env.BENCH_REDIS = env.STOA_TEST_REDIS;
}

export async function stopRedis() {
  await (await starting?.catch(() => undefined))?.stop();
}
