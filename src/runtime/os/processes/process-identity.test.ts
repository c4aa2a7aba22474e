/** Identities of processes that run, have ended, or cannot be looked up from here. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { isProcessGone, processIdentity, runsHere } from "./process-identity.ts";

const [pid, start, boot, namespace] = processIdentity().split(" ") as [string, string, string, string];
/** A number that was just used by a process that ended. */
const deadPid = String(spawnSync(process.execPath, ["--version"]).pid);
const onLinux = process.platform === "linux";

test.each([
  { of: "this process", identity: [pid, start, boot, namespace], gone: false, runs: true },
  { of: "a process that has ended", identity: [deadPid, start, boot, namespace], gone: true, runs: false },
  { of: "one whose start nobody knew", identity: [pid, "-", boot, namespace], gone: false, runs: true },
  {
    of: "one before the machine was started again, or of another machine",
    identity: [pid, start, "other", namespace],
    gone: true,
    runs: undefined,
  },
  { of: "no process", identity: ["0", start, boot, namespace], gone: false, runs: undefined },
  { of: "half a line", identity: [pid, start, boot], gone: false, runs: undefined },
])("$of", ({ identity, gone, runs }) => {
  expect([isProcessGone(identity.join(" ")), runsHere(identity.join(" "))]).toEqual([gone, runs]);
});

test.runIf(onLinux).each([
  { of: "an earlier process with the same number", identity: [pid, "12345", boot, namespace], gone: true, runs: false },
  { of: "one with the number of another user's process", identity: ["1", "12345", boot, namespace], gone: true, runs: false },
  { of: "one of another container", identity: [deadPid, start, boot, "pid:[1]"], gone: false, runs: undefined },
])("$of", ({ identity, gone, runs }) => {
  expect([isProcessGone(identity.join(" ")), runsHere(identity.join(" "))]).toEqual([gone, runs]);
});
