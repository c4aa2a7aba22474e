/**
 * The bundles and options of `placementGroup`: allowed values, defaults, and errors.
 *
 * Separate from `options.ts`, because nothing else takes them. A bundle names built-in resources as nodes do (`CPU`, `GPU`, `memory`), beside
 * custom ones. The bundles of `requestResources` are checked here by the same rules.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { errorOf } from "../../runtime/base/fault.ts";
import { resourceVector } from "../../runtime/base/resources.ts";
import { BUNDLES_MAX } from "../limits.ts";
import { count, custom, customResources, faultOf, oneOf, text, readOptions } from "./option-kinds.ts";
import { checkSelector } from "./scheduling-options.ts";
import type { LabelSelector, PlacementGroupOptions, PlacementStrategy, ResourceRequest, Resources } from "./scheduling-types.ts";

const AMOUNTS = customResources({ cpu: "CPU", gpu: "GPU" }, ["CPU", "GPU", "memory"]);
const BUNDLE = custom(AMOUNTS.allowed, {}, (value) => {
  const verdict = AMOUNTS.check(value);
  return verdict === "ok" && resourceVector(value as Record<string, number>).amounts.size === 0 ? "out of range" : verdict;
});

const GROUP = {
  of: "a placement group",
  options: {
    strategy: oneOf(["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"], "PACK"),
    name: text(undefined),
    lifetime: custom<"detached" | undefined>('"detached" is needed', undefined, (value) => (value === "detached" ? "ok" : "out of range")),
    bundleLabelSelector: custom<readonly LabelSelector[] | undefined>("an array of label selectors is needed", undefined, (value) => {
      if (!Array.isArray(value)) return "wrong type";
      return value.map(checkSelector).find((verdict) => verdict !== "ok") ?? "ok";
    }),
  },
};

/** The resolved options of `placementGroup`. */
interface ResolvedGroupOptions {
  readonly strategy: PlacementStrategy;
  readonly name: string | undefined;
  readonly isDetached: boolean;
  /** A label selector for each bundle. */
  readonly labels: readonly LabelSelector[];
}

/** @throws TypeError, RangeError */
export function resolvePlacementGroupOptions(bundles: unknown, options?: PlacementGroupOptions): ResolvedGroupOptions {
  if (!Array.isArray(bundles))
    throw new TypeError(
      `Cannot make a placement group: an array of bundles such as [{ CPU: 1 }] is needed: received ${describeValue(bundles)}`,
    );
  if (bundles.length === 0 || bundles.length > BUNDLES_MAX)
    throw new RangeError(`Cannot make a placement group: 1 to ${BUNDLES_MAX} bundles are needed: received ${bundles.length}`);
  bundles.forEach((bundle: unknown, index) => {
    const fault = faultOf(BUNDLE, bundle);
    if (fault !== undefined)
      throw errorOf(fault, `Cannot make a placement group: bundle ${index}: ${fault.reason}: received ${describeValue(bundle)}`);
  });
  const { strategy, name, lifetime, bundleLabelSelector } = readOptions(options, GROUP);
  if (bundleLabelSelector !== undefined && bundleLabelSelector.length !== bundles.length) {
    throw new RangeError(
      `Cannot set bundleLabelSelector of a placement group: one for each of the ${bundles.length} bundles is needed: received ${bundleLabelSelector.length}`,
    );
  }
  return Object.freeze({ strategy, name, isDetached: lifetime === "detached", labels: bundleLabelSelector ?? bundles.map(() => ({})) });
}

const RESOURCE_REQUEST = {
  of: "requestResources",
  otherNames: { num_cpus: "it is numCpus", bundle_label_selectors: "it is bundleLabelSelectors" },
  options: {
    numCpus: count({ min: 0, max: BUNDLES_MAX }, undefined),
    bundles: custom<readonly Resources[] | undefined>("an array of bundles such as [{ CPU: 1 }] is needed", undefined, (value) => {
      if (!Array.isArray(value)) return "wrong type";
      return value.some((bundle) => faultOf(BUNDLE, bundle) !== undefined) ? "out of range" : "ok";
    }),
    bundleLabelSelectors: custom<readonly LabelSelector[] | undefined>("an array of label selectors is needed", undefined, (value) => {
      if (!Array.isArray(value)) return "wrong type";
      return value.map(checkSelector).find((verdict) => verdict !== "ok") ?? "ok";
    }),
  },
};

/** Returns the bundles of `requestResources`, each with its label selector. @throws TypeError, RangeError */
export function resolveResourceRequest(request: ResourceRequest): { resources: Resources; labels?: LabelSelector }[] {
  const { numCpus = 0, bundles = [], bundleLabelSelectors: selectors } = readOptions(request, RESOURCE_REQUEST);
  const all = numCpus + bundles.length;
  if (all > BUNDLES_MAX)
    throw new RangeError(`Cannot request resources: at most ${BUNDLES_MAX} CPUs and bundles are taken: received ${all}`);
  if (selectors !== undefined && selectors.length !== bundles.length)
    throw new RangeError(
      `Cannot request resources: bundleLabelSelectors has one for each of the ${bundles.length} bundles: received ${selectors.length}`,
    );
  return [
    ...Array.from({ length: numCpus }, () => ({ resources: { CPU: 1 } })),
    ...bundles.map((resources, index) => ({ resources, ...(selectors?.[index] !== undefined && { labels: selectors[index] }) })),
  ];
}
