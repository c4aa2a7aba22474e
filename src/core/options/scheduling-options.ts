/**
 * The options that decide where something runs, checked and turned into the place of a lease spec.
 *
 * Decides which combinations make sense: one strategy at a time, a bundle that exists, a request that fits into a bundle. As in Ray, a
 * request that fits into none is refused at once, since no later node could mend it. Called by `options.ts` for tasks and actors, and for
 * placement groups.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { outOfRange, wrongType } from "../../runtime/base/fault.ts";
import { RESOURCE_UNIT, resourceVector, type ResourceVector } from "../../runtime/base/resources.ts";
import { isLabelKey, isLabelValue, parseCondition } from "../../runtime/scheduling/label-selector.ts";
import { leaseKey, type LeasePlace } from "../../runtime/scheduling/lease-spec.ts";
import { custom, faultOf, isPlainObject, type Option, type Verdict } from "./option-kinds.ts";
import { groupFacts } from "../groups/placement-group-facts.ts";
import type { FallbackOption, LabelSelector, PlacementGroup, PlacementGroupStrategy, SchedulingStrategy } from "./scheduling-types.ts";

const STRATEGY_ALLOWED = '"default", "spread", { nodeId, soft } or { placementGroup, bundleIndex, captureChildTasks } is needed';

export const SCHEDULING_STRATEGY: Option<SchedulingStrategy | undefined> = custom(STRATEGY_ALLOWED, undefined, checkStrategy);

export const GROUP_OPTION: Option<PlacementGroup | undefined> = custom(
  "a placement group is needed, as placementGroup() returns it",
  undefined,
  (value) => (groupFacts(value) === undefined ? "wrong type" : "ok"),
);

/** Conditions on the labels of a node: refused where a key or a condition is none. Default: none. */
export const LABEL_SELECTOR: Option<LabelSelector | undefined> = custom(
  'an object of labels and conditions, such as { region: "in(eu,us)" }, is needed',
  undefined,
  checkSelector,
);

export const FALLBACK_STRATEGY: Option<readonly FallbackOption[] | undefined> = custom(
  'an array such as [{ labelSelector: { region: "us" } }] is needed',
  undefined,
  checkFallbacks,
);

export const LABELS: Option<Readonly<Record<string, string>>> = custom(
  'an object of labels and values, such as { region: "eu" }, is needed',
  {},
  (value) => {
    if (!isPlainObject(value)) return "wrong type";
    for (const [key, label] of Object.entries(value)) {
      if (typeof label !== "string") return wrongType(`the value of ${JSON.stringify(key)} is not text`);
      if (!isLabelKey(key) || !isLabelValue(label)) return outOfRange(LABEL_FORM);
    }
    return "ok";
  },
);

const LABEL_FORM = "keys and values are letters, digits, and - _ . / between them";

function checkFallbacks(value: unknown): Verdict {
  if (!Array.isArray(value)) return "wrong type";
  for (const [index, item] of value.entries()) {
    const fault = faultOf({ allowed: FALLBACK_FORM, check: checkFallback }, item);
    if (fault !== undefined) return { ...fault, reason: `item ${index}: ${fault.reason}` };
  }
  return "ok";
}

const FALLBACK_FORM = 'an object with a labelSelector, such as { labelSelector: { region: "us" } }, is needed';

function checkFallback(item: unknown): Verdict {
  if (!isPlainObject(item)) return "wrong type";
  const unknown = Object.keys(item).find((name) => name !== "labelSelector");
  if (unknown !== undefined) return wrongType(`there is labelSelector, and no ${JSON.stringify(unknown)}`);
  return checkSelector(item["labelSelector"]);
}

export function checkSelector(value: unknown): Verdict {
  if (!isPlainObject(value)) return "wrong type";
  for (const [key, condition] of Object.entries(value)) {
    if (typeof condition !== "string") return wrongType(`the condition on ${JSON.stringify(key)} is not text`);
    if (!isLabelKey(key)) return outOfRange(LABEL_FORM);
    if (parseCondition(condition) === undefined) return outOfRange(`the condition on ${key} is not "v", "!v", "in(a,b)" or "!in(a,b)"`);
  }
  return "ok";
}

function checkStrategy(value: unknown): Verdict {
  if (typeof value === "string") return value === "default" || value === "spread" ? "ok" : "out of range";
  if (!isPlainObject(value)) {
    if (groupFacts(value) !== undefined) return wrongType("a placement group goes into an object, { placementGroup: group }");
    return "wrong type";
  }
  if ("nodeId" in value) return checkAffinity(value);
  if ("placementGroup" in value) return checkGroupStrategy(value);
  return "wrong type";
}

function checkAffinity(value: Record<string, unknown>): Verdict {
  const unknown = Object.keys(value).find((name) => name !== "nodeId" && name !== "soft");
  if (unknown !== undefined) return wrongType(`beside nodeId there is soft, and no ${JSON.stringify(unknown)}`);
  if (typeof value["nodeId"] !== "string" || value["nodeId"] === "") return wrongType("nodeId is one of nodes()");
  if (value["soft"] !== undefined && typeof value["soft"] !== "boolean") return wrongType("soft is true or false");
  return "ok";
}

function checkGroupStrategy(value: Record<string, unknown>): Verdict {
  const { placementGroup, bundleIndex, captureChildTasks, ...others } = value;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined)
    return wrongType(`beside placementGroup there are bundleIndex and captureChildTasks, and no ${JSON.stringify(unknown)}`);
  const facts = groupFacts(placementGroup);
  if (facts === undefined) return wrongType(`its placementGroup is ${describeValue(placementGroup)}`);
  if (captureChildTasks !== undefined && typeof captureChildTasks !== "boolean") return wrongType("captureChildTasks is true or false");
  if (bundleIndex === undefined) return "ok";
  if (typeof bundleIndex !== "number") return wrongType("bundleIndex is a whole number");
  const last = (facts.bundles?.length ?? Number.POSITIVE_INFINITY) - 1;
  if (Number.isInteger(bundleIndex) && bundleIndex >= -1 && bundleIndex <= last) return "ok";
  return outOfRange(`bundleIndex is a whole number from -1 (any bundle) to ${last}, the group's last`);
}

interface SchedulingValues {
  readonly schedulingStrategy: SchedulingStrategy | undefined;
  readonly placementGroup: PlacementGroup | undefined;
  readonly labelSelector: LabelSelector | undefined;
  readonly fallbackStrategy: readonly FallbackOption[] | undefined;
}

/** The key of the lease spec; whether where it runs was chosen; and the placement group, if it is one. */
interface PlacedShape {
  readonly shape: string;
  readonly isPlaced?: true | undefined;
  readonly placementGroupId?: string | undefined;
}

/** @throws TypeError, RangeError */
export function placedShape(values: SchedulingValues, resources: Readonly<Record<string, number>>, of: string): PlacedShape {
  const vector = resourceVector(resources);
  const gpus = vector.amounts.get("GPU") ?? 0;
  if (gpus > RESOURCE_UNIT && gpus % RESOURCE_UNIT !== 0)
    throw new RangeError(`Cannot set numGpus of ${of}: beyond 1 only whole GPUs can be given: received ${gpus / RESOURCE_UNIT}`);
  const place = placeOf(values, vector, of);
  const shape = leaseKey(vector, place);
  if (values.schedulingStrategy === undefined && values.placementGroup === undefined) return { shape };
  return place.bundle === undefined ? { shape, isPlaced: true } : { shape, isPlaced: true, placementGroupId: place.bundle.group };
}

/**
 * Where it is to run.
 *
 * @throws TypeError for options that contradict each other, RangeError for a request that no bundle of its group could meet
 */
function placeOf(values: SchedulingValues, resources: ResourceVector, of: string): LeasePlace {
  const { schedulingStrategy: strategy, placementGroup: group, labelSelector: labelled, fallbackStrategy: otherwise } = values;
  if (group !== undefined && strategy !== undefined && strategy !== "default")
    throw new TypeError(`Cannot set placementGroup of ${of}: it has a schedulingStrategy already: set one of them`);
  const inGroup: PlacementGroupStrategy | undefined =
    group !== undefined ? { placementGroup: group } : typeof strategy === "object" && "placementGroup" in strategy ? strategy : undefined;
  if (inGroup !== undefined) {
    if (labelled !== undefined || otherwise !== undefined)
      throw new TypeError(
        `Cannot set ${labelled === undefined ? "fallbackStrategy" : "labelSelector"} of ${of}: it runs in a placement group: give the bundles a bundleLabelSelector instead`,
      );
    return bundleOf(inGroup, resources, of);
  }
  const node = typeof strategy === "object" && "nodeId" in strategy ? { id: strategy.nodeId, soft: strategy.soft === true } : undefined;
  return { spread: strategy === "spread", node, labels: labelled, fallbacks: otherwise?.map(({ labelSelector: selector }) => selector) };
}

function bundleOf(strategy: PlacementGroupStrategy, resources: ResourceVector, of: string): LeasePlace {
  const facts = groupFacts(strategy.placementGroup);
  if (facts === undefined) throw new TypeError(`Cannot set placementGroup of ${of}: received ${describeValue(strategy.placementGroup)}`);
  const { bundleIndex = -1, captureChildTasks = false } = strategy;
  const candidates = facts.bundles?.filter((_bundle, index) => bundleIndex === -1 || index === bundleIndex);
  if (candidates !== undefined && !candidates.some((bundle) => covers(bundle, resources))) {
    const which = bundleIndex === -1 ? "no bundle of the group has" : `bundle ${bundleIndex} of the group does not have`;
    throw new RangeError(
      `Cannot set placementGroup of ${of}: ${which} what it asks for: received ${resourcesText(resources)}: ask for less (numCpus is 1 where it is not set)`,
    );
  }
  return { bundle: { group: facts.id, index: bundleIndex, capture: captureChildTasks } };
}

function covers(bundle: ResourceVector, wanted: ResourceVector): boolean {
  for (const [name, units] of wanted.amounts) if ((bundle.amounts.get(name) ?? 0) < units) return false;
  return true;
}

function resourcesText(resources: ResourceVector): string {
  return Array.from(resources.amounts, ([name, units]) => `${units / RESOURCE_UNIT} ${name}`).join(", ");
}
