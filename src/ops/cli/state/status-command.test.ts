import { expect, test } from "vitest";
import { MESSAGE } from "../../../runtime/wire/messages.ts";
import type { ClusterConnection } from "../../connection/cluster-connection.ts";
import { stateOf } from "./status-command.ts";

/** A head that answers its status in turn, and its lists as `lists` does. */
function headOf(statuses: object[], lists: () => Promise<unknown>): { cluster: Pick<ClusterConnection, "ask">; limits: unknown[] } {
  const limits: unknown[] = [];
  const ask = async (type: number, _header: unknown, options?: { timeoutMs?: number }): Promise<unknown> => {
    if (type === MESSAGE.CLUSTER_STATUS) return statuses.shift();
    limits.push(options?.timeoutMs);
    return lists();
  };
  return { cluster: { ask } as Pick<ClusterConnection, "ask">, limits };
}

test("a head that stalls between two questions shows its status, within a limit", async () => {
  const stalled = { stalled: "cannot write its changes" };
  const { cluster, limits } = headOf([{}, stalled], () => Promise.reject(new Error("it did not answer in time")));
  expect(await stateOf(cluster)).toEqual({ status: stalled, actors: [], groups: [] });
  expect(limits).toEqual([5_000, 5_000]);
});

test("a head that stalls is not asked for its lists, and one that fails otherwise is an error", async () => {
  const stalled = { stalled: "cannot write its changes" };
  const { cluster, limits } = headOf([stalled], () => Promise.resolve([]));
  expect(await stateOf(cluster)).toEqual({ status: stalled, actors: [], groups: [] });
  expect(limits).toEqual([]);
  const broken = headOf([{}, {}], () => Promise.reject(new Error("refused")));
  await expect(stateOf(broken.cluster)).rejects.toThrow("refused");
  const whole = headOf([{}], () => Promise.resolve([]));
  expect(await stateOf(whole.cluster)).toEqual({ status: {}, actors: [], groups: [] });
});
