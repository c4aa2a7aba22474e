import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RunPaths } from "./run-paths.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "shoal-run-paths-"));
  await mkdir(join(root, "run", "trial", "checkpoint_1"), { recursive: true });
  await mkdir(join(root, "run-2", "checkpoint_1"), { recursive: true });
  await symlink(join(root, "run-2"), join(root, "run", "link"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test("only what lies in the run's folder may be removed, whatever leads there", async () => {
  const paths = new RunPaths(join(root, "run"));
  const removable = async (...names: string[]): Promise<boolean> => await paths.isRemovable([root, ...names].join("/"));
  expect(await removable("run", "trial", "checkpoint_1")).toBe(true);
  expect(await removable("run-2", "checkpoint_1")).toBe(false);
  expect(await removable("run")).toBe(false);
  expect(await removable("run", "..", "run-2", "checkpoint_1")).toBe(false);
  expect(await removable("run", "link", "checkpoint_1")).toBe(false);
  expect(await removable("run", "missing", "checkpoint_1")).toBe(false);
});

test("a run that is reached through a link may remove its own", async () => {
  await symlink(join(root, "run"), join(root, "alias"));
  expect(await new RunPaths(join(root, "alias")).isRemovable(join(root, "alias", "trial", "checkpoint_1"))).toBe(true);
});

test("paths on S3 are relative to the run's prefix", async () => {
  const paths = new RunPaths("s3://bucket/run");
  expect(paths.recorded("s3://bucket/run/t/c")).toBe("t/c");
  expect(paths.recorded("s3://bucket/run-2/c")).toBe("s3://bucket/run-2/c");
  expect(paths.resolved("t/c")).toBe("s3://bucket/run/t/c");
  expect(await paths.isRemovable("s3://bucket/run/t/c")).toBe(true);
  expect(await paths.isRemovable("s3://bucket/run-2/c")).toBe(false);
});
