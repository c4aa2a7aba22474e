import { expect, test } from "vitest";
import { connectionsAllowed, openFilesMax } from "./open-files.ts";

test("a number of connections that the files of the process allow is taken as it is", () => {
  expect(connectionsAllowed(1_500, 20_000)).toEqual({ count: 1_500 });
  expect(connectionsAllowed(undefined, 1_048_576)).toEqual({ count: 20_000 });
  expect(connectionsAllowed(50_000, undefined)).toEqual({ count: 50_000 });
});

test("more than the files allow is cut down, with a warning where it was asked for", () => {
  expect(connectionsAllowed(undefined, 4_096)).toEqual({ count: 3_072 });
  const { count, warning } = connectionsAllowed(50_000, 20_000);
  expect(count).toBe(18_976);
  expect(warning).toBe(
    "Cannot take httpOptions.maxConnections: 50000 connections: the process of this proxy may have 20000 files open, of which it keeps 1024 for itself, so it takes 18976 connections. " +
      "Raise the limit where the node is started (ulimit -n 51024; LimitNOFILE of systemd), or ask for fewer connections.",
  );
});

test("the limit of this process is read where the system tells it", () => {
  const max = openFilesMax();
  if (process.platform === "linux") expect(max).toBeGreaterThan(100);
  else expect(max).toBeUndefined();
});
