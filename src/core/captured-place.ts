/**
 * What a task or actor in a placement group submits, where it captures its children: they go into any bundle of the same group.
 *
 * Only processes in which such a task has run look at the context of each call: for all others this costs one flag.
 */
import { leaseKey, parseLeaseSpec } from "../scheduling/lease-spec.ts";
import { placing, taskContext } from "../worker/task-context.ts";

export { placing };

const shapes = new Map<string, string>();
/** Programs use few shapes and groups; a program that makes groups without end must not fill memory. */
const SHAPES_MAX = 1000;

/** The shape of a call made now: that of its options, or the same in the group that captures it. */
export function capturedShape(options: { readonly shape: string; readonly isPlaced?: true | undefined }): string {
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
