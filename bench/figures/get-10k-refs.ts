/**
 * Reading one object that holds 10,000 refs, made by a task: every reading makes 10,000 refs known to this process, and
 * releases those of the reading before.
 */
import { get, type ObjectRef, put, remote } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { operationsPerSecond } from "../throughput.ts";

const REFS_COUNT = 10_000;

const makeRefs = remote((): ObjectRef<number>[] => Array.from({ length: REFS_COUNT }, () => put(1)));

export const figure: DriverFigure = {
  where: "driver",
  name: "get-10k-refs",
  title: "get of one object that holds 10,000 refs",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(20),
  floor: ratioAtLeast(5),
  async run(plan) {
    const holder = makeRefs.remote();
    const held = await get(holder);
    if (held.length !== REFS_COUNT) throw new Error(`Cannot measure: the object holds ${held.length} refs`);
    return operationsPerSecond(() => get(holder), plan);
  },
};
