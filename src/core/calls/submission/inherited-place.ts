/**
 * Decides which settings a call takes over from the caller: the placement group of a task that captures its children, and the runtime environment.
 *
 * Only processes in which something can be taken over look at the context of each call (`placing.isInherited`): for all others this costs one flag.
 */
import type { ResolvedOptions } from "../../options/options.ts";
import { leaseKey, parseLeaseSpec } from "../../../runtime/scheduling/lease-spec.ts";
import { placing, taskContext } from "../../../runtime/worker/tasks/task-context.ts";
import type { Environments } from "../../session/environments.ts";

export { placing };

type PlaceOptions = Pick<ResolvedOptions, "shape" | "isPlaced" | "runtimeEnv">;

const shapes = new Map<string, string>();
/** Programs use few shapes and groups; a program that makes groups without end must not fill memory. */
const SHAPES_MAX = 1000;

/** The shape of a call made now. */
export function inheritedShape(options: PlaceOptions, environments: Environments): string {
  const shape = capturedShape(options);
  return environments.isInherited || options.runtimeEnv !== undefined ? environments.shapeFor(shape, options.runtimeEnv) : shape;
}

/** The shape of the options, or the same shape in the group that captures the call. */
function capturedShape(options: PlaceOptions): string {
  const parent = options.isPlaced === true ? undefined : taskContext.current?.place.shape;
  if (parent === undefined || !parent.includes(",,")) return options.shape;
  const key = `${parent} ${options.shape}`;
  const known = shapes.get(key);
  if (known !== undefined) return known;
  const { bundle } = parseLeaseSpec(parent);
  const own = parseLeaseSpec(options.shape);
  const isCaptured = bundle?.capture === true && own.labels === undefined;
  const shape = isCaptured ? leaseKey(own.resources, { ...own, bundle: { ...bundle, index: -1 } }) : options.shape;
  if (shapes.size >= SHAPES_MAX) shapes.clear();
  shapes.set(key, shape);
  return shape;
}
