import { expect, test } from "vitest";
import { readLoad, within } from "./web-load.ts";

const PRINTED = `Running 3s test @ http://127.0.0.1:1/
  Latency Distribution
     50%    1.20ms
     99%    VALUE
  6919 requests in 3.08s, 1.37MB read
Requests/sec:   2244.76
Transfer/sec:    456.50KB
`;

test("rates and latencies are read in all of wrk's units, and failures are errors", () => {
  const read = (value: string) => readLoad(PRINTED.replace("VALUE", value));
  expect(read("459.36ms")).toEqual({ requestsPerSecond: 2244.76, p99Ms: 459.36, bytesPerSecond: 467_456 });
  expect(read("500.00us").p99Ms).toBe(0.5);
  expect(read("1.50s").p99Ms).toBe(1500);
  expect(readLoad(PRINTED.replace("VALUE", "1.00s").replace("456.50KB", "2.00MB")).bytesPerSecond).toBe(2 * 1024 ** 2);
  expect(() => readLoad(`${PRINTED}  Non-2xx or 3xx responses: 3`)).toThrow("requests failed");
  expect(() => readLoad("nothing")).toThrow("Cannot read");
});

test("a phase that takes too long is named", async () => {
  await expect(within(10, "its start", new Promise(() => {}))).rejects.toThrow("its start took more than 0.01 s");
  expect(await within(10_000, "its start", Promise.resolve(3))).toBe(3);
});
