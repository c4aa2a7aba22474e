import { afterEach, expect, test, vi } from "vitest";
import { type Build, ownBuild, requireSameBuild } from "./build.ts";

const OWN: Build = { shoal: "0.1.0", node: "24.21.0" };
const check = (theirs: Build): void => requireSameBuild(theirs, { own: OWN, action: "join the cluster at h:1", who: "the head" });

afterEach(() => vi.unstubAllEnvs());

test("the same package and the same major version of Node may share a cluster", () => {
  check(OWN);
  check({ shoal: "0.1.0", node: "24.0.1" });
  requireSameBuild(ownBuild(), { action: "join", who: "the head" });
});

test.each([
  [{ shoal: "0.1.0", node: "22.18.0" }, "this process runs Node 24.21.0, the head Node 22.18.0"],
  [{ shoal: "0.1.0", node: "2.4.0" }, "this process runs Node 24.21.0, the head Node 2.4.0"],
  [{ shoal: "0.1.1", node: "24.21.0" }, "this process runs shoal 0.1.0, the head shoal 0.1.1"],
])("%j is refused by name, unless the user takes the risk", (theirs, reason) => {
  const refused = { name: "VersionMismatchError", message: `Cannot join the cluster at h:1: ${reason}`, details: { own: OWN, theirs } };
  expect(() => check(theirs)).toThrow(expect.objectContaining(refused));
  vi.stubEnv("SHOAL_ALLOW_OTHER_VERSIONS", "1");
  check(theirs);
});
