/** Refuses action spaces of choices, for algorithms whose actions are numbers. */
import { describeValue } from "../../core/internal.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { Box } from "../spaces/box.ts";

/** @throws TypeError where an action is no `Box` */
export function refuseChoices(algorithm: string, built: ReadonlyMap<string, BuiltModule>): void {
  for (const { actionSpace } of built.values())
    if (!(actionSpace instanceof Box))
      throw new TypeError(
        `Cannot build ${algorithm}: its actions are a Box of floats with finite bounds: received ${describeValue(actionSpace.toJSON())}. Use BC or MARWIL for choices`,
      );
}
