/** Tests how the last lines of a server are interpreted, as version 2.15 writes them. */
import { expect, test } from "vitest";
import { diskFull, isOutOfDisk, natsServerFailure } from "./nats-failures.ts";

const facts = { folder: "/state", logFile: "/state/log", host: "127.0.0.1", port: 4222 };
const reasonOf = (...lines: string[]): string | undefined => natsServerFailure(lines, "it ended with code 1", facts).reason;

test.each([
  ['[FTL] Error listening on port: 127.0.0.1:4222, "listen tcp 127.0.0.1:4222: bind: address already in use"', "port taken"],
  ["[FTL] Error listening on router port: 6222 - listen tcp 0.0.0.0:6222: bind: address already in use", "port taken"],
  ['[FTL] Error listening on port: 10.9.9.9:1, "listen tcp 10.9.9.9:1: bind: cannot assign requested address"', "no such address"],
  ['[FTL] Error listening on port: 0.0.0.0:80, "listen tcp 0.0.0.0:80: bind: permission denied"', "permission denied"],
  ["[FTL] Can't start JetStream: could not create storage directory - mkdir /state: permission denied", "permission denied"],
  ["[ERR] JetStream out of File resources, will be DISABLED", "disk full"],
  ["[FTL] Can't start JetStream: write /state/x: no space left on device", "disk full"],
  ["[FTL] something new", "ended"],
])("%s: %s", (line, reason) => {
  expect(reasonOf("[INF] Starting nats-server", line)).toBe(reason);
});

test("the message names the port, and the error has a way out and the last lines", () => {
  const line = '[FTL] Error listening on port: 127.0.0.1:4333, "listen tcp 127.0.0.1:4333: bind: address already in use"';
  const error = natsServerFailure([line], "it ended", facts);
  expect(error.message).toContain("the port 4333 of 127.0.0.1 is taken");
  expect(error.hint).toContain("0 for a free one");
  expect(error.lastOutput).toEqual([line]);
  expect(natsServerFailure([], "it was ended by SIGKILL", facts).message).toContain("it was ended by SIGKILL");
});

test("a full disk is told from other trouble with it", () => {
  expect(isOutOfDisk("[ERR] JetStream out of resources, will be DISABLED")).toBe(true);
  expect(isOutOfDisk("[WRN] Filestore is slow")).toBe(false);
  expect(diskFull("/state", 3 * 1024 * 1024).message).toContain("3 MB are free and 64 MB are needed");
});
