/**
 * The subject of the type tests: the package's public module, by its types alone.
 *
 * `exactly<Expected>()(value)` compiles only when the value's type is that type, neither wider nor narrower nor `any`.
 */
export type * from "../../src/index.ts";
export {
  cancel,
  get,
  getActor,
  getCurrentPlacementGroup,
  getPlacementGroup,
  getObjectLocations,
  getRuntimeContext,
  InputNode,
  kill,
  kvExists,
  kvGet,
  kvList,
  kvPut,
  MultiOutputNode,
  placementGroup,
  placementGroupTable,
  put,
  ready,
  remote,
  terminate,
  wait,
  why,
} from "../../src/index.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export declare function exactly<Expected>(): <Actual>(
  value: Actual,
  ...isNot: Same<Actual, Expected> extends true ? [] : [expected: Expected]
) => void;
