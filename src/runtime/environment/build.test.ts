/**
 * Tests the environment of a job on the driver's node and on another: the workers' folder, the owner of each folder, and the text of
 * failures.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobId, NodeId } from "../base/ids.ts";
import { folderIdentity } from "../os/files/paths.ts";
import { buildEnvironment, type BuildResult, type BuiltEnvironment } from "./build.ts";
import { buildWithFolders } from "./environment-builder.ts";
import { packDirectory } from "./pack-directory.ts";
import type { ObtainedPackage, PackagePlace } from "./package-exchange.ts";
import {
  environmentKey,
  mergeRuntimeEnv,
  NO_ENVIRONMENT,
  placedRuntimeEnv,
  resolveRuntimeEnv,
  type RuntimeEnvSpec,
} from "./runtime-env.ts";

const [home, other] = ["home", "other"].map((name) => ({ node: name as NodeId, hostname: `host-${name}` })) as [Place, Place];
type Place = { node: NodeId; hostname: string };
const cacheOf = (): string => join(root, "cache");
let root: string;
let project: string;
let asked: PackagePlace[];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "test-shoal-build-")));
  project = join(root, "project");
  mkdirSync(project);
  writeFileSync(join(project, "data.txt"), "from the driver");
  asked = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function job(own: RuntimeEnvSpec = NO_ENVIRONMENT): RuntimeEnvSpec {
  const facts = { ...home, jobId: "job" as JobId, namespace: "ns", directory: project, execArgv: [] };
  return { ...placedRuntimeEnv(own, home), job: facts };
}

/** Builds as a node does; packages are taken directly from the folders. */
function build(spec: RuntimeEnvSpec, here: Place, damage: (place: PackagePlace) => void = () => {}): Promise<BuildResult> {
  const obtain = async (place: PackagePlace): Promise<ObtainedPackage> => {
    asked.push(place);
    const { hash, installed } = packDirectory(place, { cacheFolder: cacheOf(), nowMs: () => Date.now() });
    const folder = join(cacheOf(), hash);
    damage(place);
    return { hash, folder, installed };
  };
  const obtainAnew = async (place: PackagePlace): Promise<ObtainedPackage> => {
    rmSync(cacheOf(), { recursive: true });
    damage = () => {};
    return obtain(place);
  };
  return buildWithFolders("key", spec, {
    here,
    sharesFolders: true,
    variables: {},
    packages: { obtain, obtainAnew },
    run: (key, given, obtained) => buildEnvironment(given, { folder: join(root, here.node, key), variables: {}, here, obtained }),
  });
}

async function built(...given: Parameters<typeof build>): Promise<BuiltEnvironment> {
  const result = await build(...given);
  if (!("built" in result)) throw new Error(result.failed);
  return result.built;
}

test("on the driver's node workers run in the driver's own folder, and nothing is copied", async () => {
  expect(await built(job(), home)).toMatchObject({ workingDirectory: project, packageFolder: undefined });
  expect((await built(job(), home)).foreignCode).toBeUndefined();
  expect(asked).toEqual([]);
});

test("on another node they run in a copy that travelled, and know whose it is", async () => {
  const { workingDirectory, foreignCode } = await built(job(), other);
  expect(workingDirectory).toBe(join(root, "other/key/work"));
  expect(readFileSync(join(workingDirectory as string, "data.txt"), "utf8")).toBe("from the driver");
  expect(foreignCode).toMatchObject({ there: project, here: workingDirectory, driver: home, self: other });
  expect(foreignCode?.packageRoots).toContain(project);
});

test("a folder that the user named is copied on its own node, and travels to others", async () => {
  const named = join(root, "named");
  mkdirSync(named);
  writeFileSync(join(named, "a"), "1");
  writeFileSync(join(named, "b"), "2");
  const spec = job(resolveRuntimeEnv({ workingDir: named, excludes: ["b"] }));
  for (const here of [home, other]) {
    const { workingDirectory } = await built(spec, here);
    expect(workingDirectory).not.toBe(named);
    expect([existsSync(join(workingDirectory as string, "a")), existsSync(join(workingDirectory as string, "b"))]).toEqual([true, false]);
  }
  expect(asked).toEqual([{ ...home, job: "job", directory: named, excludes: ["b"] }]);
});

test("a folder that a task on another node names is that node's", async () => {
  const spec = mergeRuntimeEnv(job(), placedRuntimeEnv(resolveRuntimeEnv({ workingDir: project }), other));
  expect((await built(spec, other)).foreignCode).toBeUndefined();
  await built(spec, home);
  expect(asked).toMatchObject([{ node: "other", hostname: "host-other" }]);
});

test("a package that was damaged on its way is fetched once more, and then is a failure", async () => {
  const contentsOf = (place: PackagePlace): string => {
    const { hash } = packDirectory(place, { cacheFolder: cacheOf(), nowMs: () => Date.now() });
    return join(cacheOf(), hash, "contents");
  };
  const { workingDirectory } = await built(job(), other, (place) => writeFileSync(contentsOf(place), "FROM the driver"));
  expect(readFileSync(join(workingDirectory as string, "data.txt"), "utf8")).toBe("from the driver");
  expect(asked).toHaveLength(2);
});

test("what cannot be brought is said as it was said", async () => {
  const failing = { obtain: () => Promise.reject(new Error("both sides")), obtainAnew: () => Promise.reject(new Error("never")) };
  const result = await buildWithFolders("key", job(), {
    here: other,
    sharesFolders: true,
    variables: {},
    packages: failing,
    run: () => Promise.reject(new Error("never")),
  });
  expect(result).toEqual({ failed: "both sides", output: [] });
});

test("each job has an environment of its own, and so has each node's folder", () => {
  const keys = [
    job(),
    { ...job(), job: { ...(job().job as NonNullable<RuntimeEnvSpec["job"]>), jobId: "next" as JobId } },
    job(resolveRuntimeEnv({ workingDir: project })),
    mergeRuntimeEnv(job(), placedRuntimeEnv(resolveRuntimeEnv({ workingDir: project }), other)),
  ].map(environmentKey);
  expect(new Set(keys).size).toBe(4);
  expect(keys).not.toContain("");
});

test("a node that sees the very folder of the driver uses it, unless it is told not to", async () => {
  const { job: facts } = job() as { job: NonNullable<RuntimeEnvSpec["job"]> };
  const spec = { job: { ...facts, directoryIdentity: folderIdentity(project) } };
  expect(await built(spec, other)).toMatchObject({ workingDirectory: project });
  const elsewhere = { job: { ...facts, directoryIdentity: "another" } };
  expect((await built(elsewhere, other)).workingDirectory).not.toBe(project);
});
