/** Messages of other nodes for processes of this node. */
import { expect, test } from "vitest";
import type { ProcessId } from "../../base/ids.ts";
import { MESSAGE } from "../../wire/messages.ts";
import type { NodeDaemonOptions } from "../daemon-options.ts";
import { ClusterRouter } from "./cluster-router.ts";

const DAEMON = `${"1".repeat(16)}${"0".repeat(16)}` as ProcessId;
const LIVING = `${"1".repeat(16)}${"a".repeat(16)}` as ProcessId;
const OTHER_DAEMON = `${"2".repeat(16)}${"0".repeat(16)}` as ProcessId;
const ENDED = `${"1".repeat(16)}${"b".repeat(16)}` as ProcessId;

type Ports = ConstructorParameters<typeof ClusterRouter>[1];

test("a lease that another node grants to a process which has ended is given back", () => {
  const returned: unknown[] = [];
  const passed: unknown[] = [];
  const ports = {
    peers: {
      local: new Map([[LIVING, { connection: { send: (...sent: unknown[]) => passed.push(sent) } }]]),
      remote: { split: (from: ProcessId, { type }: { type: number }, header: unknown) => returned.push([from, type, header]) },
    },
    leases: {},
  } as unknown as Ports;
  const router = new ClusterRouter({ processId: DAEMON } as unknown as NodeDaemonOptions, ports);
  const grant = { workerId: `${"2".repeat(16)}${"c".repeat(16)}`, leaseId: 7 };

  router.receive([OTHER_DAEMON, LIVING, MESSAGE.LEASE_GRANT, 0, 0, grant], new Uint8Array(0));
  expect(passed).toHaveLength(1);
  expect(returned).toEqual([]);

  router.receive([OTHER_DAEMON, ENDED, MESSAGE.LEASE_GRANT, 0, 0, grant], new Uint8Array(0));
  expect(passed).toHaveLength(1);
  expect(returned).toEqual([[ENDED, MESSAGE.LEASE_RETURN, [grant.workerId, 7]]]);
});
