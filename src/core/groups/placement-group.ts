/**
 * Handles of placement groups, and the calls that make and find them.
 *
 * A handle is an id with the known facts of its bundles, and travels as plain data. The group itself lives in the head. Creation is one message, so
 * `placementGroup` returns at once. `ready` is one question for each process and group, answered once the bundles are reserved.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { GetTimeoutError, PlacementGroupNotFoundError, PlacementGroupRemovedError } from "../../runtime/base/errors.ts";
import { resourceVector } from "../../runtime/base/resources.ts";
import { parseLeaseSpec } from "../../runtime/scheduling/lease-spec.ts";
import { type GroupCreateHeader, type GroupStateHeader, MESSAGE } from "../../runtime/wire/messages.ts";
import { taskContext } from "../../runtime/worker/tasks/task-context.ts";
import { askNode, requireRuntime } from "../current-runtime.ts";
import { resolvePlacementGroupOptions } from "../options/group-options.ts";
import { nearNames } from "../../runtime/base/texts/near-names.ts";
import { resolveGetOptions } from "../options/operation-options.ts";
import { type GroupFacts, groupFacts, registerGroup } from "./placement-group-facts.ts";
import type { Runtime } from "../runtime.ts";
import type { PlacementGroup, PlacementGroupInfo, PlacementGroupOptions, Resources } from "../options/scheduling-types.ts";
import type { GetOptions } from "../types/types.ts";
import { within } from "../objects/waiting-limits.ts";

class PlacementGroupHandle implements PlacementGroup {
  readonly id: string;

  constructor(facts: GroupFacts) {
    this.id = facts.id;
    registerGroup(this, facts);
    Object.freeze(this);
  }

  async ready(options?: GetOptions): Promise<PlacementGroup> {
    const { timeoutMs, signal } = resolveGetOptions(options);
    const runtime = requireRuntime();
    const settled = stateOf(runtime, this.id);
    const state = await runtime.holdWhile(within(settled, { timeoutMs, signal }));
    if (state === undefined) {
      throw new GetTimeoutError(`Cannot wait for placement group ${this.id}: its bundles were not reserved after ${timeoutMs} ms`, {
        reason: "the time limit was reached",
        hint: "It goes on waiting; availableResources() and placementGroupTable() show what is free and who reserved what.",
      });
    }
    if (state.state === "removed") throw removedError(this.id, state.reason ?? "it was removed");
    return this;
  }

  async remove(): Promise<void> {
    await askNode(MESSAGE.GROUP_REMOVE, this.id);
  }
}

function removedError(id: string, reason: string): PlacementGroupRemovedError {
  return new PlacementGroupRemovedError(`Cannot use placement group ${id}: ${reason}`, { reason, hint: "Create another one." });
}

/** The questions under way, by the ids of their groups: however often `ready` is called, the head is asked once. */
const questions = new Map<string, Promise<GroupStateHeader>>();

function stateOf(runtime: Runtime, id: string): Promise<GroupStateHeader> {
  const open = questions.get(id);
  if (open !== undefined) return open;
  const question = runtime.daemon
    .request(MESSAGE.GROUP_WATCH, id, { timeoutMs: 0 })
    .then((reply) => reply.header)
    .finally(() => questions.delete(id));
  questions.set(id, question);
  return question;
}

/**
 * Reserves bundles of resources, all or none of them. Returns at once; the group waits for as long as they do not fit.
 *
 * @throws TypeError, RangeError for bundles that are none, and for options that do not exist
 * @example
 * const group = await placementGroup([{ CPU: 1 }, { CPU: 1 }], { strategy: "PACK" }).ready();
 */
export function placementGroup(bundles: readonly Resources[], options?: PlacementGroupOptions): PlacementGroup {
  const runtime = requireRuntime();
  const { strategy, name, isDetached, labels } = resolvePlacementGroupOptions(bundles, options);
  const id = runtime.options.ids.actorId() as string;
  const place = taskContext.current?.place;
  const header: GroupCreateHeader = {
    id,
    name,
    namespace: runtime.options.namespace,
    strategy,
    bundles: bundles.map((bundle) => ({ ...bundle })),
    labels: labels.map((selector) => ({ ...selector })),
    isDetached,
    // A task's worker goes on to other tasks, so groups that a task makes belong to the whole program.
    owner: place === undefined ? runtime.options.processId : place.actor,
  };
  runtime.daemon.send(MESSAGE.GROUP_CREATE, header);
  return new PlacementGroupHandle({ id, bundles: header.bundles.map(resourceVector) });
}

/**
 * The placement group of a name in this program's namespace.
 *
 * @throws PlacementGroupNotFoundError when there is none; it lists the names that there are
 */
export async function getPlacementGroup(name: string): Promise<PlacementGroup> {
  if (typeof name !== "string" || name === "")
    throw new TypeError(`Cannot look up a placement group: a name is needed: received ${describeValue(name)}`);
  const { namespace } = requireRuntime().options;
  const { header: found } = await askNode(MESSAGE.GROUP_LOOKUP, { name, namespace });
  if (found === undefined) throw unknownGroup(name, namespace, await placementGroupTable());
  return new PlacementGroupHandle({ id: found.id, bundles: found.bundles.map(resourceVector) });
}

const NAMES_SHOWN_MAX = 10;

function unknownGroup(name: string, namespace: string, groups: readonly PlacementGroupInfo[]): PlacementGroupNotFoundError {
  const isKnown = (group: PlacementGroupInfo): boolean => group.namespace === namespace && group.state !== "removed";
  const known = groups.flatMap((group) => (group.name !== undefined && isKnown(group) ? [group.name] : []));
  const near = nearNames(name, known);
  const shown = near.length > 0 ? near : known.slice(0, NAMES_SHOWN_MAX);
  const listed = shown.map((text) => JSON.stringify(text)).join(", ");
  const others = known.length > shown.length ? `, and ${known.length - shown.length} others` : "";
  const there = known.length === 0 ? "no group there has a name" : `there are ${listed}${others}`;
  return new PlacementGroupNotFoundError(
    `Cannot get placement group ${JSON.stringify(name)}: none has that name in namespace ${JSON.stringify(namespace)}: ${there}`,
    {
      reason: "no placement group has that name",
      hint: "Create it first with the option name, and look it up in the same namespace; its end frees the name.",
      details: { name, namespace, known },
    },
  );
}

/** Returns the handle of a placement group by id, in any namespace, for libraries that have kept an id. Does not check that the group exists. */
export function placementGroupOfId(id: string): PlacementGroup {
  return new PlacementGroupHandle({ id, bundles: undefined });
}

/** All placement groups of the cluster, and those that were removed last. */
export async function placementGroupTable(): Promise<PlacementGroupInfo[]> {
  const { header } = await askNode(MESSAGE.GROUPS, undefined);
  return header.map(({ id, name, namespace, strategy, state, bundles, nodeIds }) => ({
    id,
    name,
    namespace,
    strategy,
    state,
    bundles,
    nodeIds: nodeIds.map((node) => node ?? undefined),
  }));
}

/** The placement group in which the current task or actor runs; undefined outside of one. */
export function getCurrentPlacementGroup(): PlacementGroup | undefined {
  const shape = taskContext.current?.place.shape;
  const bundle = shape === undefined ? undefined : parseLeaseSpec(shape).bundle;
  return bundle === undefined ? undefined : placementGroupOfId(bundle.group);
}

/** A handle that came from another process. */
export function receivedGroup(payload: unknown): PlacementGroup {
  const [id, bundles] = payload as [string, [string, number][][] | undefined];
  return new PlacementGroupHandle({ id, bundles: bundles?.map((amounts) => ({ key: "", amounts: new Map(amounts) })) });
}

/** Returns the plain form in which a handle travels; undefined for any other value. */
export function groupPayload(value: object): unknown {
  const facts = groupFacts(value);
  return facts === undefined ? undefined : [facts.id, facts.bundles?.map(({ amounts }) => Array.from(amounts))];
}
