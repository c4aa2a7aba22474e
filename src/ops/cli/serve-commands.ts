/**
 * `shoal serve run`, `deploy`, `build`, `status`, `config`, `shutdown`: Ray's commands, over what `shoal/serve` offers to programs.
 *
 * `run` serves from a node of its own, unless it is told an address, until it is ended; the others work on the cluster that this machine is a node of. The user's code is loaded by the command, as
 * a program of his would load it.
 */
import { watchFolder } from "../../runtime/os/files/watch-folder.ts";
import { startSameProgram } from "../../runtime/os/processes/same-program.ts";
import type { Terminal } from "../../runtime/os/terminal.ts";
import { readUserFile } from "../../runtime/os/user-modules.ts";
import { ADDRESS, type Command, defineCommand, EXIT, UsageError } from "./command.ts";
import { type ServeLibrary, serveLibrary, type ServeStatusFacts, withLibrary } from "./serve-library.ts";

const RESTART_LINE = "shoal serve: something has changed; starting again";

const runCommand: Command = defineCommand({
  name: "serve run",
  summary: "run an application, or what a configuration says, until it is ended",
  description:
    "TARGET is app.ts:app, a module and its export, or a file with a configuration (.yaml, .yml, .json). KEY=VALUE is given to an export that builds the application.",
  words: ["TARGET"],
  moreWords: "KEY=VALUE",
  options: {
    reload: { short: "r", help: "start again when a file of this folder changes" },
    name: { valueName: "NAME", help: 'of the application; default "default"' },
    "route-prefix": { valueName: "PATH", help: 'where it answers; default "/"' },
    host: { valueName: "HOST", help: "where proxies listen; default 127.0.0.1" },
    port: { valueName: "PORT", help: "default 8000" },
    address: { ...ADDRESS, help: 'run on a cluster, such as "auto", in place of a node of its own' },
    "non-blocking": { help: "end when the application answers; it stays on the cluster" },
  },
  run: async ({ options, words: [target = "", ...more], terminal }) => {
    if (options["non-blocking"] && options.address === undefined)
      throw new UsageError("Cannot run shoal serve run: --non-blocking needs --address: a node of its own ends with the command");
    if (options.reload) return await reloading(target, more, options, terminal);
    const folder = terminal.workingDirectory;
    const { serve, core } = await withLibrary(() => serveLibrary(folder, options.address));
    const name = options.name ?? "default";
    const isFile = isConfig(target);
    if (isFile && (more.length > 0 || options.name !== undefined || options["route-prefix"] !== undefined))
      throw new UsageError("Cannot run shoal serve run: names, routes and arguments are in the configuration");
    const args = argumentsOf(more);
    const address = await withLibrary(async () =>
      isFile
        ? (await serve.deployConfig(readUserFile(folder, target), placeOf(target, folder))).address
        : runTarget(serve, { target, args, folder }, { ...options, name }),
    );
    terminal.tell(
      `shoal serve: ${isFile ? target : `application ${name}`} runs${address === undefined ? "" : ` at ${address}${options["route-prefix"] ?? ""}`}`,
    );
    if (options["non-blocking"]) await core.shutdown();
    else
      await untilSignal(async () => {
        await (isFile || options.address === undefined ? serve.shutdown() : serve.delete(name));
        await core.shutdown();
      });
    return EXIT.SUCCESS;
  },
});

interface RunValues {
  readonly name: string;
  readonly "route-prefix": string | undefined;
  readonly host: string | undefined;
  readonly port: string | undefined;
}

async function runTarget(
  serve: ServeLibrary,
  { target, folder, args }: { target: string; folder: string; args: Readonly<Record<string, string>> },
  { name, "route-prefix": routePrefix, host, port }: RunValues,
): Promise<string | undefined> {
  const application = await serve.importApplication({ importPath: target, folder, args });
  const { address } = await serve.start({ httpOptions: { host, ...(port !== undefined && { port: portOf(port) }) } });
  await serve.run(application, { name, routePrefix });
  return address;
}

/** Runs the same command without `--reload` again and again. */
async function reloading(
  target: string,
  more: readonly string[],
  options: Readonly<Record<string, unknown>>,
  terminal: Terminal,
): Promise<number> {
  const given = Object.entries(options).flatMap(([name, value]) => {
    if (name === "reload" || value === undefined || value === false) return [];
    return value === true ? [`--${name}`] : [`--${name}`, value as string];
  });
  let isEnding = false;
  let child = startSameProgram(["serve", "run", target, ...more, ...given]);
  let changed: (() => void) | undefined;
  using _watch = watchFolder(terminal.workingDirectory, () => changed?.());
  const ended = untilSignal(async () => {
    isEnding = true;
    child.stop();
    await child.ended;
  });
  for (;;) {
    const change = new Promise<"changed">((resolve) => (changed = () => resolve("changed")));
    const what = await Promise.race([change, ended.then(() => "ended" as const)]);
    if (what === "ended" || isEnding) return EXIT.SUCCESS;
    terminal.tell(RESTART_LINE);
    child.stop();
    await child.ended;
    child = startSameProgram(["serve", "run", target, ...more, ...given]);
  }
}

const deployCommand: Command = defineCommand({
  name: "serve deploy",
  summary: "run what a configuration says on the cluster, and end all other applications",
  words: ["CONFIG"],
  options: { address: ADDRESS },
  run: ({ options, words: [file = ""], terminal }) =>
    onCluster(terminal, options.address, async (serve) => {
      const { address } = await serve.deployConfig(readUserFile(terminal.workingDirectory, file), placeOf(file, terminal.workingDirectory));
      terminal.print(`${file} runs${address === undefined ? "" : ` at ${address}`}`);
    }),
});

const buildCommand: Command = defineCommand({
  name: "serve build",
  summary: "print a configuration for applications in code",
  words: ["TARGET"],
  moreWords: "TARGET",
  options: {},
  run: async ({ words, terminal }) => {
    const { serve } = await serveLibrary(terminal.workingDirectory, undefined);
    terminal.print((await withLibrary(() => serve.buildConfig(words, terminal.workingDirectory))).trimEnd());
  },
});

const statusCommand: Command = defineCommand({
  name: "serve status",
  summary: "show applications, their deployments, and proxies",
  options: { address: ADDRESS, json: { help: "print JSON" } },
  run: ({ options, terminal }) =>
    onCluster(terminal, options.address, async (serve) => {
      const status = await serve.status();
      terminal.print(options.json ? JSON.stringify(status) : statusLines(status).join("\n"));
    }),
});

const configCommand: Command = defineCommand({
  name: "serve config",
  summary: "print the configuration that was deployed last",
  options: { address: ADDRESS },
  run: async ({ options, terminal }) => {
    let isFound = false;
    await onCluster(terminal, options.address, async (serve) => {
      const text = await serve.deployedConfig();
      isFound = text !== undefined;
      if (text === undefined) terminal.tell("shoal: no configuration was deployed");
      else terminal.print(text.trimEnd());
    });
    return isFound ? EXIT.SUCCESS : EXIT.FAILURE;
  },
});

const shutdownCommand: Command = defineCommand({
  name: "serve shutdown",
  summary: "end all applications and proxies of the cluster",
  options: { address: ADDRESS, yes: { short: "y", help: "say that it is meant" } },
  run: ({ options, terminal }) => {
    if (!options.yes) throw new UsageError("Cannot run shoal serve shutdown: it ends all applications; say --yes");
    return onCluster(terminal, options.address, (serve) => serve.shutdown());
  },
});

export const serveCommands: readonly Command[] = [runCommand, deployCommand, buildCommand, statusCommand, configCommand, shutdownCommand];

async function onCluster(terminal: Terminal, address: string | undefined, work: (serve: ServeLibrary) => Promise<void>): Promise<void> {
  const { serve, core } = await withLibrary(() => serveLibrary(terminal.workingDirectory, address ?? "auto"));
  try {
    await withLibrary(() => work(serve));
  } finally {
    await core.shutdown();
  }
}

function statusLines({ proxies, applications }: ServeStatusFacts): string[] {
  const lines = Object.entries(proxies).map(
    ([id, { status, address }]) => `proxy ${id}: ${status}${address === undefined ? "" : `, ${address}`}`,
  );
  for (const [name, { status, message, routePrefix, deployments }] of Object.entries(applications)) {
    lines.push(`application ${name}: ${status}${routePrefix === null ? "" : `, ${routePrefix}`}${message === "" ? "" : `: ${message}`}`);
    for (const [deployment, { status: state, replicaStates }] of Object.entries(deployments)) {
      const replicas = Object.entries(replicaStates).map(([replicaState, count]) => `${count} ${replicaState}`);
      lines.push(`  ${deployment}: ${state}, replicas: ${replicas.join(", ") || "none"}`);
    }
  }
  return lines.length === 0 ? ["nothing is served"] : lines;
}

/** Resolves when the program is told to end and has done what it does then. */
function untilSignal(atEnd: () => Promise<void>): Promise<void> {
  // Waiting for a signal keeps no process alive.
  const alive = setInterval(() => {}, 2 ** 30);
  return new Promise((resolve, reject) => {
    const end = (): void => {
      for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, end);
      atEnd()
        .then(resolve, reject)
        .finally(() => clearInterval(alive));
    };
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, end);
  });
}

function isConfig(target: string): boolean {
  return /\.(ya?ml|json)$/.test(target);
}

function placeOf(file: string, folder: string): { source: string; folder: string } {
  const slash = file.lastIndexOf("/");
  const own = slash === -1 ? folder : file.startsWith("/") ? file.slice(0, slash) : `${folder}/${file.slice(0, slash)}`;
  return { source: file, folder: own };
}

function argumentsOf(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf("=");
      if (at < 1) throw new UsageError(`Cannot run shoal serve run: KEY=VALUE is needed: received ${JSON.stringify(word)}`);
      return [word.slice(0, at), word.slice(at + 1)];
    }),
  );
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`Cannot run shoal serve run: --port takes a number from 0 to 65535: received ${JSON.stringify(text)}`);
  return port;
}
