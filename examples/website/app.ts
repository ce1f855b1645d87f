import { App } from "stoa";

/** A small site: files from a folder, compressed and cached, with careful headers, and a page that is made on request. */
export function websiteApp(): App {
  const app = new App();
  app.enableStaticFiles({ directory: new URL("./public", import.meta.url), prefix: "/", cacheMaxAge: 600 });
  app.enableCompression({ brotli: true });
  app.enableEtag();
  app.enableSecurityHeaders({ contentSecurityPolicy: { "style-src": ["'self'"] }, frameOptions: "DENY" });

  app.get("/primes", (request) => {
    const limit = Math.min(Number(request.query.get("limit") ?? 1000) || 0, 100_000);
    return { primes: primesUpTo(limit) };
  });
  return app;
}

function primesUpTo(limit: number): number[] {
  const composite = new Uint8Array(limit + 1);
  const primes: number[] = [];
  for (let n = 2; n <= limit; n++) {
    if (composite[n]) continue;
    primes.push(n);
    for (let multiple = n * n; multiple <= limit; multiple += n) composite[multiple] = 1;
  }
  return primes;
}
