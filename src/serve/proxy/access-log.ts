/** Writes a line of JSON for each request: method, path, status, duration, and the id that the replica's own lines share. */
import type { AccessEntry } from "./fronts/client-exchange.ts";

/** Query texts are left out: clients put secrets there. */
export function logAccess({ method, target, app, route, status, durationMs, requestId }: AccessEntry): void {
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  const entry = {
    time: new Date().toISOString(),
    method,
    path,
    route,
    app,
    status,
    durationMs: Math.round(durationMs * 1000) / 1000,
    requestId,
  };
  process.stdout.write(`${JSON.stringify(entry)}\n`);
}
