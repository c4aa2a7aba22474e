import { expect, test, vi } from "vitest";
import type { LogLevel } from "../../runs/run-config.ts";
import { RunMessages } from "./run-messages.ts";

test.each<[LogLevel, string[]]>([
  ["DEBUG", ["shoal: told\n", "shoal: warned\n"]],
  ["INFO", ["shoal: told\n", "shoal: warned\n"]],
  ["WARNING", ["shoal: warned\n"]],
  ["ERROR", []],
])("%s lets through what is as important", (level, expected) => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const messages = new RunMessages(level);
  messages.info("told");
  messages.warn("warned");
  const written = write.mock.calls.map(([text]) => text);
  write.mockRestore();
  expect(written).toEqual(expected);
});
