/**
 * Makes the packages that hold nats-server, one for each platform, for a release: `npm run build:nats-package -- [--out FOLDER] [linux-x64 ...]`.
 *
 * Each holds the program, its licence and a manifest that npm installs on its own platform only; no install script. Built from the pinned Go module,
 * whose checksum Go's database and our pin both confirm, so the provenance is the module's and nobody's binary is passed on.
 */
import { chmodSync, copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { goBuild, PINS } from "./nats-server.mjs";
import { ROOT } from "./setup.mjs";

/** How Go calls them. */
const SYSTEMS = { linux: "linux", darwin: "darwin", win32: "windows" };
const PROCESSORS = { x64: "amd64", arm64: "arm64" };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: "string", default: join(ROOT, "toolchain", "nats-server", "bin", "packages") } },
});
const platforms =
  positionals.length > 0 ? positionals : Object.keys(SYSTEMS).flatMap((os) => Object.keys(PROCESSORS).map((cpu) => `${os}-${cpu}`));

for (const platform of platforms) {
  const [os = "", cpu = ""] = platform.split("-");
  if (SYSTEMS[os] === undefined || PROCESSORS[cpu] === undefined) {
    throw new RangeError(`Cannot build a package: platforms are like linux-x64: received ${platform}`);
  }
  const folder = join(resolve(values.out), `nats-server-${platform}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "bin"), { recursive: true });
  const environment = { GOOS: SYSTEMS[os], GOARCH: PROCESSORS[cpu] };
  const { program, moduleFolder } = goBuild({ folder: join(folder, "bin"), environment });
  chmodSync(program, 0o755);
  for (const [from, to] of [
    [join(moduleFolder, "LICENSE"), "LICENSE"],
    [join(moduleFolder, "DEPENDENCIES.md"), "DEPENDENCIES.md"],
  ]) {
    copyFileSync(from, join(folder, to));
    chmodSync(join(folder, to), 0o644);
  }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(platform, { os, cpu }), null, 2)}\n`);
  writeFileSync(join(folder, "README.md"), readme(platform));
  process.stdout.write(`${folder}: ${(statSync(program).size / 1024 / 1024).toFixed(1)} MB\n`);
}

function manifest(platform, { os, cpu }) {
  return {
    name: `@shoal/nats-server-${platform}`,
    version: PINS.version,
    description: `nats-server ${PINS.version} for ${platform}, for clusters of Shoal`,
    license: "Apache-2.0",
    os: [os],
    cpu: [cpu],
    files: ["bin", "LICENSE", "DEPENDENCIES.md"],
    preferUnplugged: true,
  };
}

function readme(platform) {
  return `# nats-server for ${platform}

The unmodified nats-server ${PINS.version}, built from its Go module ${PINS.goModule} (${PINS.goSum}) with
\`go build -trimpath -ldflags "-s -w"\`. Apache-2.0: see LICENSE; DEPENDENCIES.md names what is built into it. \`shoal\` finds it when it is installed.
`;
}
