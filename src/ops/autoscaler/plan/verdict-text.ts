/**
 * Words for the fate of a demand: `fits`, `launching (3 of gpu)`, and why no node is added.
 *
 * `shoal status` and `why` show them. No program decides by them. Pure.
 */
import type { Labels } from "../../../runtime/scheduling/label-selector.ts";
import type { Obstacle } from "./new-nodes.ts";

export const FITS = "fits on nodes of the cluster";

export function launchingText(types: Iterable<readonly [type: string, count: number]>): string {
  return `launching (${Array.from(types, ([type, count]) => `${count} of ${type}`).join(", ")})`;
}

export function obstacleText(
  obstacle: Obstacle,
  wanted: { resources: Readonly<Record<string, number>>; labels: Labels | undefined },
): string {
  switch (obstacle.kind) {
    case "noType":
      return `no node type has ${wantedText(wanted)}`;
    case "typeFull":
      return `at max_workers of ${obstacle.type}`;
    case "clusterFull":
      return "at max_workers of the cluster";
    case "backOff": {
      const { cause, message, untilMs } = obstacle.backOff;
      return `backing off ${obstacle.type} until ${new Date(untilMs).toISOString()}: ${cause}: ${message}`;
    }
  }
}

/** `GPU: 1, CPU: 2 and labels zone=a`. */
export function wantedText({ resources, labels }: { resources: Readonly<Record<string, number>>; labels: Labels | undefined }): string {
  const amounts = Object.entries(resources).map(([name, amount]) => `${name}: ${amount}`);
  const conditions = Object.entries(labels ?? {}).map(([name, condition]) => `${name}=${condition}`);
  const text = amounts.length === 0 ? "room" : amounts.join(", ");
  return conditions.length === 0 ? text : `${text} and labels ${conditions.join(", ")}`;
}
