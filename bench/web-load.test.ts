import { expect, test } from "vitest";
import { readLoad } from "./web-load.ts";

const PRINTED = `Running 3s test @ http://127.0.0.1:1/
  Latency Distribution
     50%    1.20ms
     99%    VALUE
  6919 requests in 3.08s, 1.37MB read
Requests/sec:   2244.76
`;

test("rates and latencies are read in all of wrk's units, and failures are errors", () => {
  expect(readLoad(PRINTED.replace("VALUE", "459.36ms"))).toEqual({ requestsPerSecond: 2244.76, p99Ms: 459.36 });
  expect(readLoad(PRINTED.replace("VALUE", "500.00us")).p99Ms).toBe(0.5);
  expect(readLoad(PRINTED.replace("VALUE", "1.50s")).p99Ms).toBe(1500);
  expect(() => readLoad(`${PRINTED}  Non-2xx or 3xx responses: 3`)).toThrow("requests failed");
  expect(() => readLoad("nothing")).toThrow("Cannot read");
});
