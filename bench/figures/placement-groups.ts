/**
 * Creating placement groups and removing them: 100 of one small bundle each are asked for, awaited, and removed, as in Ray's microbenchmark.
 * The bundle is a fraction of a CPU, which every machine has, instead of Ray's custom resource. A group counts once it is gone.
 */
import { placementGroup } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { operationsPerSecond } from "../throughput.ts";

const GROUPS_COUNT = 100;

export const figure: DriverFigure = {
  where: "driver",
  name: "placement-groups",
  title: "placement groups, create and remove",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(10),
  floor: ratioAtLeast(5),
  async run(plan) {
    const batch = async () => {
      const groups = Array.from({ length: GROUPS_COUNT }, () => placementGroup([{ CPU: 0.001 }]));
      await Promise.all(groups.map((group) => group.ready()));
      await Promise.all(groups.map((group) => group.remove()));
    };
    return operationsPerSecond(batch, plan, { operationsPerCall: GROUPS_COUNT });
  },
};
