import { expect, test } from "vitest";
import type { ProcessId } from "../../../base/ids.ts";
import { leasesToReclaim } from "./lease-fairness.ts";

const [caller, other, worker, second] = ["caller", "other", "worker", "second"] as ProcessId[] as [
  ProcessId,
  ProcessId,
  ProcessId,
  ProcessId,
];
const [CPU, HALF] = ["CPU:10000", "CPU:5000"];

function starving(...rows: [owner: ProcessId, ...shapes: string[]][]): ReadonlyMap<ProcessId, ReadonlySet<string>> {
  return new Map(rows.map(([owner, ...shapes]) => [owner, new Set(shapes)]));
}

const leases = [
  { id: 1, key: CPU, owner: caller, worker, group: undefined, revoked: false },
  { id: 2, key: HALF, owner: caller, worker: second, group: undefined, revoked: false },
];

test("a caller that starves for one shape is asked for its idle leases of the other, and not for those of that shape", () => {
  expect(leasesToReclaim(leases, starving([caller, HALF]))).toEqual([{ worker, owner: caller, leaseId: 1 }]);
  expect(leasesToReclaim(leases, starving([caller, CPU]))).toEqual([{ worker: second, owner: caller, leaseId: 2 }]);
  expect(leasesToReclaim(leases, starving([caller, CPU, HALF]))).toEqual([]);
});

test("all are asked where several starve, or somebody without leases, and nobody where none does", () => {
  const all = [
    { worker, owner: caller, leaseId: 1 },
    { worker: second, owner: caller, leaseId: 2 },
  ];
  expect(leasesToReclaim(leases, starving([caller, CPU, HALF], [other, CPU]))).toEqual(all);
  expect(leasesToReclaim(leases, starving([other, CPU]))).toEqual(all);
  expect(leasesToReclaim(leases, starving())).toEqual([]);
});

test("a worker is asked once for an owner, up to the newest lease", () => {
  const twice = [
    { id: 7, key: CPU, owner: caller, worker, group: undefined, revoked: false },
    { id: 3, key: CPU, owner: caller, worker, group: undefined, revoked: false },
  ];
  expect(leasesToReclaim(twice, starving([other, CPU]))).toEqual([{ worker, owner: caller, leaseId: 7 }]);
});
