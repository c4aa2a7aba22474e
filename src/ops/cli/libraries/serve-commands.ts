/**
 * `shoal serve start`, `run`, `deploy`, `build`, `status`, `config`, `token`, `controller-health`, `shutdown`: Ray's commands, built on the
 * public functions of `shoal/serve`.
 *
 * Without an address `run` serves from a new node until it is ended; the others work on the cluster that this machine belongs to. The
 * command loads the user's code as a program of the user's would.
 */
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import { ShoalError } from "../../../runtime/base/errors.ts";
import type { Terminal } from "../../../runtime/os/terminal.ts";
import { readUserFile } from "../../../runtime/os/packages/user-modules.ts";
import { ADDRESS, type Command, defineCommand, EXIT, UsageError } from "../command.ts";
import {
  type GrpcListening,
  type ProxyLocation,
  type ServeLibrary,
  serveLibrary,
  type ServeStatusFacts,
  withLibrary,
} from "./serve-library.ts";
import { WatchedFolders } from "./watched-folders.ts";

const API_TOKEN_HINT = "Its clients show a token, which `shoal serve token` prints";
const RESTART_LINE = "shoal serve: something has changed; running it again";

const API_OPTIONS = {
  "api-port": { valueName: "PORT", help: "of the REST API and /metrics; default 8265, 0 is any that is free" },
  "api-host": { valueName: "HOST", help: "where they listen; default 127.0.0.1; clients need a token" },
} as const;

const APP_DIR = { short: "d", valueName: "FOLDER", help: "where TARGET begins; default: this folder" } as const;

const startCommand: Command = defineCommand({
  name: "serve start",
  summary: "start Serve on the cluster: proxies, and the REST API",
  description:
    "Starts the proxies and Ray's REST API (/api/serve/applications/) with /metrics on the cluster that this machine is a node of. What runs already stays as it is. A token for the API may be given in SHOAL_API_TOKEN.",
  options: {
    address: ADDRESS,
    "http-host": { valueName: "HOST", help: "where proxies listen; default 127.0.0.1" },
    "http-port": { valueName: "PORT", help: "default 8000, 0 is any that is free" },
    "proxy-location": { valueName: "PLACE", help: "EveryNode, HeadOnly or Disabled; default EveryNode" },
    "grpc-port": { valueName: "PORT", help: "of the services; default 9000, 0 is any that is free" },
    "grpc-servicer-functions": {
      valueName: "FILE.proto:SERVICE",
      isList: true,
      help: "a service of gRPC; may be given several times. Default: nothing listens for gRPC",
    },
    "grpc-disable-reflection": { help: "do not tell clients which services there are" },
    ...API_OPTIONS,
  },
  run: ({ options, terminal }) => {
    const port = portOf("start", "http-port", options["http-port"]);
    const httpOptions = { host: options["http-host"], port, location: locationOf(options["proxy-location"]) };
    const grpcOptions = grpcOf(options, terminal.workingDirectory);
    const apiOptions = { ...apiOf("start", options), token: terminal.environment["SHOAL_API_TOKEN"] };
    return onCluster(terminal, options.address, async (serve) => {
      const { address, grpcAddress, api } = await serve.start({ httpOptions, grpcOptions, apiOptions });
      if (address !== undefined) terminal.print(`Proxies listen at ${address}`);
      if (grpcAddress !== undefined) terminal.print(`gRPC listens at ${grpcAddress}`);
      terminal.print(`The REST API listens at ${api?.address}`);
      terminal.print(API_TOKEN_HINT);
    });
  },
});

const tokenCommand: Command = defineCommand({
  name: "serve token",
  summary: "print the token of the REST API and /metrics",
  description:
    'Reads it from the cluster that this machine is a node of, as only its owner may. Clients send it: curl -H "authorization: Bearer $(shoal serve token)".',
  options: { address: ADDRESS },
  run: async ({ options, terminal }) => {
    let isFound = false;
    await onCluster(terminal, options.address, async (serve) => {
      const api = await serve.restApi();
      isFound = api !== undefined;
      if (api === undefined) terminal.tell("shoal: the REST API is not open. `shoal serve start` opens it.");
      else terminal.print(api.token);
    });
    return isFound ? EXIT.SUCCESS : EXIT.FAILURE;
  },
});

const healthCommand: Command = defineCommand({
  name: "serve controller-health",
  summary: "show how the controller of Serve does",
  options: { address: ADDRESS, json: { help: "print JSON" } },
  run: async ({ options, terminal }) => {
    let isFound = false;
    await onCluster(terminal, options.address, async (serve) => {
      const health = await serve.controllerHealth();
      isFound = health !== undefined;
      if (health === undefined) terminal.tell("shoal: Serve does not run on this cluster. `shoal serve start` starts it.");
      else if (options.json) terminal.print(JSON.stringify(health));
      else terminal.print(healthLines(health).join("\n"));
    });
    return isFound ? EXIT.SUCCESS : EXIT.FAILURE;
  },
});

const runCommand: Command = defineCommand({
  name: "serve run",
  summary: "run an application or a configuration until it is ended",
  description:
    "TARGET is app.ts:app, a module and its export, or a file with a configuration (.yaml, .yml, .json). KEY=VALUE is given to an export that builds the application.",
  words: ["TARGET"],
  moreWords: "KEY=VALUE",
  options: {
    reload: { short: "r", help: "run it anew when a file of this folder changes" },
    "app-dir": APP_DIR,
    name: { valueName: "NAME", help: 'of the application; default "default"' },
    "route-prefix": { valueName: "PATH", help: 'where it answers; default "/"' },
    host: { valueName: "HOST", help: "where proxies listen; default 127.0.0.1" },
    port: { valueName: "PORT", help: "default 8000" },
    "working-dir": { valueName: "FOLDER", help: "goes with the replicas; TARGET is relative to it" },
    "runtime-env": { valueName: "FILE", help: "environment of the replicas, as YAML or JSON" },
    "runtime-env-json": { valueName: "JSON", help: "the same in words" },
    address: { ...ADDRESS, help: 'run on a cluster, such as "auto", in place of a node of its own' },
    "non-blocking": { help: "end when the application answers; it stays on the cluster" },
  },
  run: async ({ options, words: [target = "", ...more], terminal }) => {
    if (options["non-blocking"] && options.address === undefined)
      throw new UsageError("Cannot run shoal serve run: --non-blocking needs --address: the command's own node ends with it");
    if (options["non-blocking"] && options.reload)
      throw new UsageError("Cannot run shoal serve run: --non-blocking and --reload exclude each other");
    const folder = folderFrom(terminal.workingDirectory, options["app-dir"]);
    const isFile = isConfig(target);
    if (isFile && (more.length > 0 || IN_CONFIGURATION.some((option) => options[option] !== undefined)))
      throw new UsageError(
        "Cannot run shoal serve run: names, routes, arguments, environments and where proxies listen are in the configuration",
      );
    const wanted: RunTarget = {
      target,
      folder,
      home: isFile ? placeOf(target, folder).folder : folder,
      isFile,
      args: argumentsOf(more),
      name: options.name ?? "default",
      routePrefix: options["route-prefix"],
      host: options.host,
      port: portOf("run", "port", options.port),
      runtimeEnv: runtimeEnvOf(options, terminal.workingDirectory),
      workingDir: options["working-dir"],
    };
    if (options.reload) return await runReloading(wanted, options.address, terminal);
    const { serve, core } = await withLibrary(() => serveLibrary(wanted.home, options.address));
    terminal.tell(runsLine(wanted, await withLibrary(() => runTarget(serve, wanted))));
    if (options["non-blocking"]) await core.shutdown();
    else
      await untilSignal(async () => {
        await (isFile || options.address === undefined ? serve.shutdown() : serve.delete(wanted.name));
        await core.shutdown();
      });
    return EXIT.SUCCESS;
  },
});

const IN_CONFIGURATION = ["app-dir", "name", "route-prefix", "host", "port", "working-dir", "runtime-env", "runtime-env-json"] as const;

/** The application or configuration for `run`. */
interface RunTarget {
  readonly target: string;
  readonly folder: string;
  /** The project's folder: that of the configuration or of the module. */
  readonly home: string;
  /** Whether the target is a configuration: the following fields are then undefined or empty. */
  readonly isFile: boolean;
  readonly args: Readonly<Record<string, string>>;
  readonly name: string;
  readonly routePrefix: string | undefined;
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly runtimeEnv: { readonly text: string; readonly source: string } | undefined;
  readonly workingDir: string | undefined;
}

function runsLine({ isFile, target, name, routePrefix = "" }: RunTarget, address: string | undefined): string {
  return `shoal serve: ${isFile ? target : `application ${name}`} runs${address === undefined ? "" : ` at ${address}${routePrefix}`}`;
}

/** @returns where a proxy listens */
async function runTarget(serve: ServeLibrary, wanted: RunTarget): Promise<string | undefined> {
  const { target, folder, name, routePrefix, host, port } = wanted;
  if (wanted.isFile) return (await serve.deployConfig(readUserFile(folder, target), placeOf(target, folder))).address;
  const application = await serve.importApplication({ ...wanted, importPath: target });
  const { address } = await serve.start({ httpOptions: { host, port } });
  await serve.run(application, { name, routePrefix });
  return address;
}

/** The same with the files as they are now. @param watch called with each folder of the code, before anything is deployed @returns where a proxy listens */
async function runTargetAgain(
  serve: ServeLibrary,
  wanted: RunTarget,
  { signal, watch }: { signal: AbortSignal; watch: (folder: string) => void },
): Promise<string | undefined> {
  const { target, folder, name, routePrefix, host, port, args, runtimeEnv, workingDir } = wanted;
  if (wanted.isFile)
    return (await serve.redeployConfig(readUserFile(folder, target), { ...placeOf(target, folder), signal, foundFolder: watch })).address;
  if (workingDir !== undefined) watch(folderFrom(folder, workingDir));
  const { address } = await serve.start({ httpOptions: { host, port } });
  await serve.redeployApplication({ importPath: target, folder, args, runtimeEnv, workingDir }, { name, routePrefix, signal });
  return address;
}

/**
 * Runs the target again whenever a file changes. The node, the controller and the proxies stay, so only the user's code restarts. Clients
 * reach the former version until the new one answers, or if it does not come up.
 */
async function runReloading(wanted: RunTarget, address: string | undefined, terminal: Terminal): Promise<number> {
  const onNode = async <T>(work: (serve: ServeLibrary) => Promise<T>): Promise<T> => {
    const { serve, core } = await withLibrary(() => serveLibrary(wanted.home, address));
    try {
      return await withLibrary(() => work(serve));
    } finally {
      // Joins the cluster again each time, as it takes over the job's files when a job joins.
      if (address !== undefined) await core.shutdown();
    }
  };
  const ending = new AbortController();
  let attempt = new AbortController();
  using watched = new WatchedFolders({ changed: () => attempt.abort(), tell: (line) => terminal.tell(line) });
  const watch = (folder: string): void => watched.add(folder);
  watched.addOrThrow(wanted.home);
  const ended = untilSignal(async () => {
    ending.abort();
    attempt.abort();
  });
  while (!ending.signal.aborted) {
    const { signal } = attempt;
    try {
      const runsAt = await onNode((serve) => runTargetAgain(serve, wanted, { signal, watch }));
      terminal.tell(runsLine(wanted, runsAt));
    } catch (error) {
      if (!signal.aborted) tellFailure(error, terminal);
    }
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    if (ending.signal.aborted) break;
    attempt = new AbortController();
    terminal.tell(RESTART_LINE);
  }
  await ended;
  await onNode((serve) => (wanted.isFile || address === undefined ? serve.shutdown() : serve.delete(wanted.name).then(() => {})));
  if (address === undefined) await (await serveLibrary(wanted.home, undefined)).core.shutdown();
  return EXIT.SUCCESS;
}

/** Reports a mistake in the user's files, which the next change may mend. @throws other errors */
function tellFailure(error: unknown, terminal: Terminal): void {
  if (!(error instanceof ShoalError)) throw error;
  terminal.tell(`shoal serve: ${error.message}${error.hint === undefined ? "" : `\n  ${error.hint}`}`);
}

const deployCommand: Command = defineCommand({
  name: "serve deploy",
  summary: "run a configuration on the cluster, and end all other applications",
  words: ["CONFIG"],
  description:
    "Resolves when all applications answer. Opens Ray's REST API and /metrics, too, unless they are open; if their port is taken, it warns and continues.",
  options: { address: ADDRESS, ...API_OPTIONS },
  run: ({ options, words: [file = ""], terminal }) => {
    const apiOptions = apiOf("deploy", options);
    const place = placeOf(file, terminal.workingDirectory);
    return onCluster({ ...terminal, workingDirectory: place.folder }, options.address, async (serve) => {
      const { address, grpcAddress } = await serve.deployConfig(readUserFile(terminal.workingDirectory, file), place);
      const grpc = grpcAddress === undefined ? "" : `, gRPC at ${grpcAddress}`;
      terminal.print(`${file} runs${address === undefined ? "" : ` at ${address}`}${grpc}`);
      try {
        const { api } = await serve.start({ apiOptions });
        terminal.print(`The REST API listens at ${api?.address}`);
        terminal.print(API_TOKEN_HINT);
      } catch (error) {
        terminal.tell(`shoal serve: the REST API is not open: ${messageOf(error)}. Try --api-port.`);
      }
    });
  },
});

const buildCommand: Command = defineCommand({
  name: "serve build",
  summary: "print a configuration for applications in code",
  words: ["TARGET"],
  moreWords: "TARGET",
  options: { "app-dir": APP_DIR },
  run: async ({ words, options, terminal }) => {
    const folder = folderFrom(terminal.workingDirectory, options["app-dir"]);
    const { serve } = await serveLibrary(folder, undefined);
    terminal.print((await withLibrary(() => serve.buildConfig(words, folder))).trimEnd());
  },
});

const statusCommand: Command = defineCommand({
  name: "serve status",
  summary: "show applications, their deployments, and proxies",
  options: { address: ADDRESS, name: { short: "n", valueName: "NAME", help: "of one application alone" }, json: { help: "print JSON" } },
  run: async ({ options: { address, name, json }, terminal }) => {
    let isFound = true;
    await onCluster(terminal, address, async (serve) => {
      const { proxies, applications } = await serve.status();
      const found = name === undefined ? undefined : applications[name];
      isFound = name === undefined || found !== undefined;
      if (!isFound) terminal.tell(`shoal: there is no application ${name}: there are ${Object.keys(applications).join(", ") || "none"}`);
      else if (json) terminal.print(JSON.stringify(found ?? { proxies, applications }));
      else {
        const shown = found === undefined ? { proxies, applications } : { proxies: {}, applications: { [name as string]: found } };
        terminal.print(statusLines(shown).join("\n"));
      }
    });
    return isFound ? EXIT.SUCCESS : EXIT.FAILURE;
  },
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
    if (!options.yes) throw new UsageError("Cannot run shoal serve shutdown: it ends all applications: confirm with --yes");
    return onCluster(terminal, options.address, (serve) => serve.shutdown());
  },
});

export const serveCommands: readonly Command[] = [
  startCommand,
  runCommand,
  deployCommand,
  buildCommand,
  statusCommand,
  configCommand,
  tokenCommand,
  healthCommand,
  shutdownCommand,
];

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

/** Resolves when the program was told to end and has run `atEnd`. */
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

function folderFrom(folder: string, given: string | undefined): string {
  return given === undefined ? folder : given.startsWith("/") ? given : `${folder}/${given}`;
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

function portOf(command: string, option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`Cannot run shoal serve ${command}: --${option} takes a number from 0 to 65535: received ${JSON.stringify(text)}`);
  return port;
}

/** Ray's names of the places. */
const LOCATIONS: Readonly<Record<string, ProxyLocation>> = { EveryNode: "everyNode", HeadOnly: "headOnly", Disabled: "disabled" };

function locationOf(name: string | undefined): ProxyLocation | undefined {
  if (name === undefined) return undefined;
  const location = LOCATIONS[name];
  if (location === undefined)
    throw new UsageError(
      `Cannot run shoal serve start: --proxy-location takes EveryNode, HeadOnly or Disabled: received ${JSON.stringify(name)}`,
    );
  return location;
}

interface GrpcWords {
  readonly "grpc-port": string | undefined;
  readonly "grpc-servicer-functions": readonly string[];
  readonly "grpc-disable-reflection": boolean;
}

function grpcOf(options: GrpcWords, folder: string): GrpcListening | undefined {
  const services = options["grpc-servicer-functions"].map((word) => {
    const [, protoFile, service] = /^(.+\.proto):([\w.]+)$/.exec(word) ?? [];
    if (protoFile === undefined || service === undefined)
      throw new UsageError(
        `Cannot run shoal serve start: --grpc-servicer-functions takes a .proto file and a service of it, such as shop.proto:shop.v1.Shop: received ${JSON.stringify(word)}`,
      );
    return { protoFile: folderFrom(folder, protoFile), service };
  });
  const port = portOf("start", "grpc-port", options["grpc-port"]);
  if (services.length > 0) return { port, services, reflection: !options["grpc-disable-reflection"] };
  if (port !== undefined || options["grpc-disable-reflection"])
    throw new UsageError(
      "Cannot run shoal serve start: --grpc-port and --grpc-disable-reflection need --grpc-servicer-functions, without which nothing listens for gRPC",
    );
  return undefined;
}

function apiOf(
  command: string,
  options: { readonly "api-host": string | undefined; readonly "api-port": string | undefined },
): { host: string | undefined; port: number | undefined } {
  return { host: options["api-host"], port: portOf(command, "api-port", options["api-port"]) };
}

function runtimeEnvOf(
  {
    "runtime-env": file,
    "runtime-env-json": json,
  }: { readonly "runtime-env": string | undefined; readonly "runtime-env-json": string | undefined },
  folder: string,
): { text: string; source: string } | undefined {
  if (file !== undefined && json !== undefined)
    throw new UsageError("Cannot run shoal serve run: --runtime-env and --runtime-env-json exclude each other");
  if (json !== undefined) return { text: json, source: "--runtime-env-json" };
  return file === undefined ? undefined : { text: readUserFile(folder, file), source: file };
}

function healthLines(health: Readonly<Record<string, string | number | undefined>>): string[] {
  const { nodeId, pid, uptimeMs, memoryBytes, delayMs, applications, replicas, apiAddress } = health;
  return [
    `controller: process ${pid} of node ${nodeId}, up for ${Math.round(Number(uptimeMs) / 1000)} s`,
    `memory: ${Math.round(Number(memoryBytes) / 1e6)} MB`,
    `delay of its last step: ${delayMs} ms`,
    `applications: ${applications}, replicas: ${replicas}`,
    `REST API: ${apiAddress ?? "not open"}`,
  ];
}
