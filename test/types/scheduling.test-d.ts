/** Scheduling at compile time: strategies, groups, and what `why` gives. */
import {
  exactly,
  getCurrentPlacementGroup,
  getPlacementGroup,
  getRuntimeContext,
  type InitOptions,
  type PlacementGroup,
  type FallbackOption,
  type PlacementGroupInfo,
  placementGroup,
  placementGroupTable,
  remote,
  type Why,
  why,
} from "./api.ts";

const task = (x: number): number => x;
class Actor {
  run(): number {
    return 1;
  }
}

const group = placementGroup([{ CPU: 1 }, { GPU: 0.5, tpu: 1 }], { strategy: "STRICT_SPREAD", name: "x", lifetime: "detached" });
exactly<PlacementGroup>()(group);
exactly<PlacementGroup>()(await group.ready({ timeoutMs: 10 }));
exactly<void>()(await group.remove());
exactly<PlacementGroup>()(await getPlacementGroup("x"));
exactly<PlacementGroup | undefined>()(getCurrentPlacementGroup());
exactly<PlacementGroupInfo[]>()(await placementGroupTable());
placementGroup([{ CPU: 1 }], { bundleLabelSelector: [{ region: "eu" }] });

remote(task, { schedulingStrategy: "spread", labelSelector: { region: "!eu" } });
remote(task, { schedulingStrategy: { nodeId: "n", soft: true } });
remote(task, { schedulingStrategy: { placementGroup: group, bundleIndex: 0, captureChildTasks: true } });
remote(task, { placementGroup: group }).remote(1);
remote(Actor, { placementGroup: group, schedulingStrategy: undefined });
remote((given: PlacementGroup) => given.id).remote(group);
export const labelled: InitOptions = { labels: { region: "eu" } };

exactly<Why>()(await why(remote(task).remote(1)));
exactly<readonly Why[]>()((await why(remote(task).remote(1))).causes);
exactly<Readonly<Record<string, readonly string[]>>>()(getRuntimeContext().acceleratorIds);
exactly<string | undefined>()(getRuntimeContext().placementGroupId);

// @ts-expect-error: no such strategy
remote(task, { schedulingStrategy: "random" });
// @ts-expect-error: a strategy names its node or its group
remote(task, { schedulingStrategy: { soft: true } });
// @ts-expect-error: not a group
remote(task, { placementGroup: "x" });
// @ts-expect-error: conditions are text
remote(task, { labelSelector: { region: ["eu"] } });
remote(task, { labelSelector: { region: "eu" }, fallbackStrategy: [{ labelSelector: { region: "us" } }, { labelSelector: {} }] });
remote(Actor, { fallbackStrategy: [] as readonly FallbackOption[] });
// @ts-expect-error: an array of them
remote(task, { fallbackStrategy: { labelSelector: { region: "us" } } });
// @ts-expect-error: labels are all that may be asked for instead
remote(task, { fallbackStrategy: [{ numCpus: 1 }] });
// @ts-expect-error: bundles are objects of amounts
placementGroup([1]);
// @ts-expect-error: no such strategy
placementGroup([{ CPU: 1 }], { strategy: "LOOSE" });
// @ts-expect-error: not a ref
why(5);
