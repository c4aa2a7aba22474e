import { totalmem } from "node:os";
import { expect, test, vi } from "vitest";
import type { NodeId } from "../base/ids.ts";
import { offerOf } from "./node-offer.ts";

test("a node offers the memory of its control group, where that is less than the machine's", () => {
  const options = { numCpus: 2, numGpus: 0, resources: {}, labels: {} };
  const nodeId = "00112233445566778899aabbccddeeff" as NodeId;
  const limit = vi.spyOn(process, "constrainedMemory").mockReturnValue(totalmem() / 4);
  expect(offerOf(options, nodeId).resources["memory"]).toBe(totalmem() / 4);
  limit.mockReturnValue(0);
  expect(offerOf(options, nodeId).resources["memory"]).toBe(totalmem());
  limit.mockRestore();
});
