/** Tests the resources of a node as they are written on a command line. */
import { expect, test } from "vitest";
import { UsageError } from "../command.ts";
import { NODE_OPTIONS, nodeOptions, port } from "./node-options.ts";

type Values = Parameters<typeof nodeOptions>[0];

function read(given: Partial<Values>): ReturnType<typeof nodeOptions> {
  const none = Object.fromEntries(Object.keys(NODE_OPTIONS).map((name) => [name, undefined])) as Values;
  return nodeOptions({ ...none, ...given });
}

test("everything is read", () => {
  expect(
    read({
      "num-cpus": "2",
      "num-gpus": "0",
      resources: '{"license": 2, "half": 0.5}',
      labels: "zone=a, disk=ssd,expression=a=b",
      "object-store-memory": "1.5GiB",
      "spill-directory": "/spill",
      "waiting-processes-per-cpu": "4",
    }),
  ).toEqual({
    numCpus: 2,
    numGpus: 0,
    resources: { license: 2, half: 0.5 },
    labels: { zone: "a", disk: "ssd", expression: "a=b" },
    objectStoreMemoryBytes: 1.5 * 1024 ** 3,
    spillDirectory: "/spill",
    waitingProcessesPerCpu: 4,
  });
  expect(read({ "object-store-memory": "500mb" }).objectStoreMemoryBytes).toBe(500e6);
  expect(read({}).numCpus).toBeUndefined();
});

test.each([
  [{ "num-cpus": "two" }, "--num-cpus takes a number of 0 or more: received two"],
  [{ "num-gpus": "-1" }, "--num-gpus takes a number of 0 or more"],
  [{ resources: "license=2" }, "--resources takes a JSON object"],
  [{ resources: '{"license": "2"}' }, "--resources takes a JSON object"],
  [{ resources: '{"CPU": 2}' }, "--resources has no CPU: that is --num-cpus"],
  [{ labels: "zone" }, "--labels takes names and values"],
  [{ "object-store-memory": "2 apples" }, "--object-store-memory takes a size"],
  [{ "waiting-processes-per-cpu": "1.5" }, "--waiting-processes-per-cpu takes a whole number of 0 or more: received 1.5"],
  [{ "object-store-memory": "0" }, "--object-store-memory takes a size"],
] as [Partial<Values>, string][])("%j is refused", (given, message) => {
  expect(() => read(given)).toThrow(UsageError);
  expect(() => read(given)).toThrow(message);
});

test("a port is a number that can be one", () => {
  expect([port(undefined, 6380), port("0", 6380)]).toEqual([6380, 0]);
  for (const wrong of ["65536", "-1", "http", "1.5"]) expect(() => port(wrong, 1)).toThrow(UsageError);
});
