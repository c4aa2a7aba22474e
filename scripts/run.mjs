/**
 * Runs one command of package.json under the pinned Node, after setting up what that command needs.
 *
 * Plain JavaScript for Node 20, like setup.mjs. Decides which program a command name means and passes the user's arguments, the
 * terminal and the exit on unchanged, so that `npm run demo -- --help` feels like running the program itself.
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { join } from "node:path";
import { natsServerBinary } from "./nats-server.mjs";
import { ensureBuild, ensureDependencies, nodeBinary, ROOT, SetupError } from "./setup.mjs";

const VITEST = "node_modules/vitest/vitest.mjs";

/**
 * `node`: the arguments of the pinned Node; a command without them is done when the setup is. `needsDist`: runs the compiled package; the
 * others work on the sources and have to run when these do not compile. `wantsNats`: runs tests that need a nats-server and are skipped without.
 */
const COMMANDS = {
  build: { needsDist: true },
  demo: { needsDist: true, node: ["examples/primes.ts"] },
  bench: { needsDist: true, node: ["bench/main.ts"] },
  conformance: { needsDist: true, node: ["conformance/main.ts"] },
  soak: { needsDist: true, node: ["--expose-gc", "soak/main.ts"] },
  chaos: { needsDist: true, wantsNats: true, node: ["chaos/main.ts"] },
  sim: { needsDist: false, node: ["sim/main.ts"] },
  mutants: { needsDist: false, node: ["test/mutants/main.ts"] },
  scale: { needsDist: true, wantsNats: true, node: ["--expose-gc", "scale/main.ts"] },
  test: {
    needsDist: true,
    wantsNats: true,
    node: [VITEST, "run", "--project", "!libraries", "--project", "!systems", "--project", "!frameworks"],
  },
  "test:systems": { needsDist: true, node: [VITEST, "run", "--project", "libraries", "--project", "systems"] },
  "test:frameworks": { needsDist: true, node: [VITEST, "run", "--project", "frameworks"] },
  "test:learning": { needsDist: true, node: ["test/learning/main.ts"] },
  "test:gpu": { needsDist: true, node: ["--test", "--test-concurrency=1", "test/gpu/*.gpu.ts"] },
  tokens: { needsDist: false, node: ["scripts/count-tokens.ts"] },
  check: { needsDist: false, node: [VITEST, "run", "--project", "unit", "--project", "rules"] },
  format: { needsDist: false, node: ["node_modules/@biomejs/biome/bin/biome", "format", "--write"] },
  "build-nats-package": { needsDist: false, node: ["scripts/build-nats-package.mjs"] },
  "build-native": { needsDist: false, node: ["scripts/build-native.mjs"] },
};

function main() {
  const [name, ...rest] = process.argv.slice(2);
  const command = COMMANDS[name];
  if (command === undefined) {
    throw new SetupError(`Cannot run "${name ?? ""}": the commands are ${Object.keys(COMMANDS).join(", ")}.`);
  }
  const node = nodeBinary();
  ensureDependencies();
  if (command.needsDist) ensureBuild(node);
  if (command.wantsNats) fetchNats();
  if (command.node !== undefined) become(node, [...ownArguments(command.node, rest), ...rest]);
}

/** Projects of Vitest that the user names replace the command's: `npm run check -- --project rules` runs the rules alone. */
function ownArguments(own, given) {
  if (!given.some((argument) => argument.startsWith("--project"))) return own;
  return own.filter((argument, index) => argument !== "--project" && own[index - 1] !== "--project");
}

/** Before the tests, so that none of them waits for a download. Without it the tests that need it are skipped, which their titles explain. */
function fetchNats() {
  try {
    natsServerBinary();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`shoal: ${error.message}\n`);
  }
}

/** Node 20 cannot replace its process image, so this process stays as a shell around the child: same terminal, same signals, same end. */
function become(program, args) {
  const path = [join(program, ".."), join(ROOT, "node_modules", ".bin"), process.env.PATH].join(":");
  const child = spawn(program, args, { cwd: ROOT, stdio: "inherit", env: { ...process.env, PATH: path } });
  // Ctrl-C reaches the child from the terminal; this process only has to outlive it. The others are sent to one process and passed on.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(`Cannot start ${program}: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function fail(message) {
  process.stderr.write(`shoal: ${message}\n`);
  process.exit(1);
}

try {
  main();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  fail(error.message);
}
