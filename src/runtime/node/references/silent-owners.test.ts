import { expect, test } from "vitest";
import type { ProcessId } from "../../base/ids.ts";
import { SilentOwners } from "./silent-owners.ts";

const OWNER = "owner" as ProcessId;

test("an owner is silent from its first unanswered question until it answers one", () => {
  const owners = new SilentOwners();
  const computesMs = (nowMs: number): unknown => owners.explain({ id: OWNER, pid: 7 }, nowMs).details["computesMs"];
  owners.asked(OWNER, 100);
  owners.asked(OWNER, 900);
  expect(owners.explain({ id: OWNER, pid: 7 }, 2100).reason).toContain("its owner, process 7, has computed for 2.0 s at least");
  owners.heard(OWNER);
  expect(computesMs(2500)).toBe(0);
  owners.asked(OWNER, 3000);
  expect(computesMs(3500)).toBe(500);
});
