/** The loss and the gradients of one update of PPO, against those that PyTorch computed for the same weights and batch (test/vectors/rl/record_losses.py). */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { expectPPOLosses, type RecordedPPO } from "../../../test/oracles/ppo-losses.ts";

const recorded = JSON.parse(readFileSync(new URL("../../../test/vectors/rl/losses.json", import.meta.url), "utf8")) as {
  readonly ppo: readonly RecordedPPO[];
};

test.each(recorded.ppo)("PPO, with an LSTM: $recurrent", async (wanted) => {
  await expectPPOLosses(wanted);
  expect(wanted.batch.states).toHaveLength(32);
});
