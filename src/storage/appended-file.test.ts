import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openAppended } from "./appended-file.ts";

const folder = mkdtempSync(join(tmpdir(), "appended-"));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([true, false])("an append that failed, and left a part, can be repeated (a new file: %s)", async (isNew) => {
  const place = mkdtempSync(join(folder, "place-"));
  const path = join(place, "log");
  if (!isNew) appendFileSync(path, "before\n");
  const file = await openAppended(path, { isNew });
  await file.append("a\n");
  renameSync(place, `${place}-away`);
  await expect(file.append("bé\n")).rejects.toThrow(`Cannot write ${path}: there is no folder ${place}`);
  await expect(file.append("bé\n")).rejects.toThrow("there is no folder");
  renameSync(`${place}-away`, place);
  // A full disk takes a part of what is appended.
  appendFileSync(path, "b\uFFFD");
  await file.append("bé\n");
  await file.appendDurably("c\n");
  expect(readFileSync(path, "utf8")).toBe(`${isNew ? "" : "before\n"}a\nbé\nc\n`);
});
