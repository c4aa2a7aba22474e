/**
 * Deploys applications anew whose code may have changed: for `shoal serve run --reload`.
 *
 * Each deploy is a revision, whose environment variable keeps its processes apart, since a process keeps the modules that it has imported. One worker of a revision loads the code, and becomes the
 * first replica then; it has started before the files changed. A new variable also makes each deployment a new version, so the update is a rolling one: the old replicas
 * answer until the new ones do, and go on where these do not start.
 */
import { randomUUID } from "node:crypto";
import { cancel, remote } from "../../core/index.ts";
import { startedHere } from "../../core/internal.ts";
import { saveConfigText, takeCapacity } from "../controller/serve-store.ts";
import type { TargetCapacity } from "../deployments/deployment-config.ts";
import { useLazyRequest } from "../replica/http/lazy-request.ts";
import { useLazyResponse } from "../replica/http/lazy-response.ts";
import { delete as deleteApplication, readPlace, runBuilt, type RunOptions, type StartedServe, start, status, unwrapped } from "../run.ts";
import { type ApplicationToBuild, buildInTask, revisionVariables } from "./build-in-task.ts";
import { grpcOptionsOf, httpOptionsOf } from "./config-options.ts";
import type { ConfigPlace } from "./deploy-config.ts";
import { type ImportTarget, workingDirOf } from "./load-application.ts";

/** Chosen in advance, so that a worker of the next revision can be ready. */
let nextRevision: string = randomUUID();

/** Options of both. */
interface RedeployOptions {
  /** An abort drops an application that is not deployed yet and rejects the call, so that a later call can replace it. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a module's application with the present content of its files.
 *
 * @throws ServeConfigError for a missing module or export; errors of the user's code; DeployFailedError if the application does not start
 */
export async function redeployApplication(
  { runtimeEnv: given, workingDir, ...target }: ImportTarget,
  { signal, ...place }: Pick<RunOptions, "name" | "routePrefix"> & RedeployOptions,
): Promise<void> {
  const read = given === undefined ? {} : (await import("./read-config.ts")).readRuntimeEnv(given.text, given.source);
  const runtimeEnv = workingDir === undefined ? read : { ...read, working_dir: workingDir };
  const application = {
    ...target,
    ...readPlace(place),
    runtimeEnv,
    fields: undefined,
    deployments: new Map(),
    places: new Map(),
    logging: {},
    tracing: {},
  };
  await unlessAborted(signal, () => redeploy([application], signal));
}

/**
 * Runs the applications of a configuration as their files are now, and ends all others.
 *
 * @param options `foundFolder` is called with each folder in which code of an application is, beside the folder of the configuration, before anything is deployed: a mistake there is mended there
 * @throws what `deployConfig` throws
 */
export async function redeployConfig(
  text: string,
  {
    source = "the configuration",
    folder = process.cwd(),
    signal,
    foundFolder = () => {},
  }: ConfigPlace & RedeployOptions & { readonly foundFolder?: (folder: string) => void } = {},
): Promise<StartedServe> {
  // As the package for YAML would be loaded by every process of Serve.
  const { readConfig } = await import("./read-config.ts");
  const config = readConfig(text, source);
  for (const { runtimeEnv } of config.applications) {
    const found = workingDirOf(runtimeEnv, folder);
    if (found !== undefined) foundFolder(found);
  }
  const started = await start({ httpOptions: httpOptionsOf(config), grpcOptions: grpcOptionsOf(config, folder) });
  const wanted = new Set(config.applications.map(({ name }) => name));
  const others = Object.keys((await status()).applications).filter((name) => !wanted.has(name));
  const applications = config.applications.map(({ name, routePrefix, ...application }) => ({
    ...application,
    ...readPlace({ name, routePrefix }),
    folder,
  }));
  await unlessAborted(signal, async () => {
    await redeploy(applications, signal, async () => {
      // Before the others are deployed, which may want their routes.
      await Promise.all(others.map((name) => deleteApplication(name)));
      return await takeCapacity(config);
    });
    await saveConfigText(text);
  });
  return started;
}

/** Builds all applications before it deploys the first. @param beforeDeploy - called when all are built, tells which part of the replicas is to run */
async function redeploy(
  applications: readonly ApplicationToBuild[],
  signal: AbortSignal | undefined,
  beforeDeploy: () => Promise<TargetCapacity | undefined> = async () => undefined,
): Promise<void> {
  const revision = nextRevision;
  nextRevision = randomUUID();
  const variables = revisionVariables(revision);
  const settled = await Promise.allSettled(
    applications.map(async ({ runtimeEnv, ...application }) => {
      const environment = { ...runtimeEnv, env_vars: { ...(runtimeEnv["env_vars"] as object | undefined), ...variables } };
      return await unwrapped(buildInTask({ ...application, runtimeEnv: environment }, { revision }));
    }),
  );
  const failed = settled.find(({ status: outcome }) => outcome === "rejected") as PromiseRejectedResult | undefined;
  if (failed !== undefined || signal?.aborted === true) {
    const ended = applications.map(({ runtimeEnv }) =>
      endWorker({ ...(runtimeEnv["env_vars"] as Record<string, string> | undefined), ...variables }),
    );
    if (!startedHere()) await Promise.all(ended);
    throw failed === undefined ? signal?.reason : failed.reason;
  }
  const capacity = await beforeDeploy();
  const built = settled.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  await runBuilt(
    built.map(({ target, code }) => {
      // All replicas change at once, as far as there is room.
      const deployments = target.deployments.map((one) => ({ ...one, config: { ...one.config, maxSurgePercent: 1 } }));
      return { target: { ...target, deployments, capacity }, code };
    }),
  );
  // A cluster is left after each deploy, and what was begun there ends with that.
  if (startedHere()) startWorker(revisionVariables(nextRevision), signal);
}

/** Starts a worker for the next revision, so that everything except the user's code is loaded when a file changes. */
function startWorker(envVars: Record<string, string>, signal: AbortSignal | undefined): void {
  const started = remote(prepareWorker, { name: "next revision", numCpus: 0, runtimeEnv: { envVars } }).remote();
  started.then(undefined, () => {});
  // The next revision, or the end of the program, waits for nothing that only was to make it quicker.
  signal?.addEventListener("abort", () => cancel(started), { once: true });
}

/** Ends a worker that has loaded a revision of which nothing runs. */
async function endWorker(envVars: Record<string, string>): Promise<void> {
  await remote(prepareWorker, { name: "end of a revision", numCpus: 0, maxCalls: 1, runtimeEnv: { envVars } })
    .remote()
    .then(undefined, () => {});
}

/** Runs in the worker. Registered, so that it travels by its name. */
export function prepareWorker(): void {
  // Modules that keep the classes for themselves get those of replicas.
  useLazyRequest();
  useLazyResponse();
}

/** A constructor that hangs must not keep the next version from its turn. */
async function unlessAborted(signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
  signal?.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", abort);
  try {
    await Promise.race([work(), aborted]);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}
