import { expect, test } from "vitest";
import { inspectorFlags } from "./inspector-flags.ts";
import { NodeInspector } from "./node-inspector.ts";

const URL = "ws://127.0.0.1:40000/6a317d9a-a4a7-4d60-959f-f7515d3e7ae6";

test("lines about an inspector that a program opened itself are its output", () => {
  const inspector = new NodeInspector(() => {});
  for (const line of [`Debugger listening on ${URL}`, "Debugger attached.", ""]) expect(inspector.printed(line)).toBe(line);
});

test("lines about an inspector that was asked for are taken off the output, and text before them is kept", async () => {
  let signals = 0;
  const inspector = new NodeInspector(() => void (signals += 1));
  const opened = inspector.open();
  expect(signals).toBe(1);
  expect(inspector.printed("a line of the program")).toBe("a line of the program");
  expect(inspector.printed(`half a lineDebugger listening on ${URL}`)).toBe("half a line");
  expect(await opened).toBe(URL);
  expect(inspector.printed("For help, see: https://nodejs.org/learn/getting-started/debugging")).toBeUndefined();
  expect(inspector.printed("Debugger attached.")).toBeUndefined();
  expect(inspector.printed("Debugger attached. Or not.")).toBe("Debugger attached. Or not.");
  expect(await inspector.open()).toBe(URL);
  expect(signals).toBe(1);
});

test("an address on another machine is no inspector of the process", () => {
  const inspector = new NodeInspector(() => {});
  void inspector.open().catch(() => {});
  const line = "Debugger listening on ws://192.0.2.1:40000/6a317d9a-a4a7-4d60-959f-f7515d3e7ae6";
  expect(inspector.printed(line)).toBe(line);
});

test("flags of a user about the inspector win", () => {
  expect(inspectorFlags([], undefined)).toHaveLength(2);
  expect(inspectorFlags(["--inspect-wait=9230"], undefined)).toEqual([]);
  expect(inspectorFlags([], "--disable-sigusr1")).toEqual([]);
});
