/**
 * `shoal` and `shoal/serve` as the commands use them.
 *
 * The command loads the user's copy of the programming model instead of this program's, since the user's code must meet the same one.
 * Called by the commands of `shoal serve`, which alone know these interfaces.
 */
import { ShoalError } from "../../../runtime/base/errors.ts";
import { importFor } from "../../../runtime/os/packages/user-modules.ts";

type Text = string | undefined;
/** An application; the commands pass it on. */
type Application = object;

interface Started {
  readonly address: Text;
  readonly grpcAddress?: Text;
  readonly api?: RestApi | undefined;
}

interface RestApi {
  readonly address: string;
  readonly token: string;
}

interface Listening {
  host?: Text;
  port?: number | undefined;
}

export type ProxyLocation = "everyNode" | "headOnly" | "disabled";

export interface GrpcListening extends Listening {
  services: { protoFile: string; service: string }[];
  reflection: boolean;
}

/** The part of `shoal/serve` that commands call. */
export interface ServeLibrary {
  start(options: {
    httpOptions?: Listening & { location?: ProxyLocation | undefined };
    grpcOptions?: GrpcListening | undefined;
    apiOptions?: Listening & { token?: Text };
  }): Promise<Started>;
  controllerHealth(): Promise<Readonly<Record<string, string | number | undefined>> | undefined>;
  restApi(): Promise<RestApi | undefined>;
  run(application: Application, options: { name?: Text; routePrefix?: Text }): Promise<unknown>;
  delete(name: string): Promise<boolean>;
  shutdown(): Promise<void>;
  status(): Promise<ServeStatusFacts>;
  deployConfig(text: string, place: { source: string; folder: string }): Promise<Started>;
  deployedConfig(): Promise<Text>;
  buildConfig(targets: readonly string[], folder: string): Promise<string>;
  importApplication(target: ImportTarget): Promise<Application>;
  redeployApplication(target: ImportTarget, options: { name?: Text; routePrefix?: Text; signal: AbortSignal }): Promise<void>;
  redeployConfig(
    text: string,
    place: { source: string; folder: string; signal: AbortSignal; foundFolder: (folder: string) => void },
  ): Promise<Started>;
}

interface ImportTarget {
  importPath: string;
  folder: string;
  args: Readonly<Record<string, string>>;
  runtimeEnv?: { text: string; source: string } | undefined;
  workingDir?: Text;
}

export interface ServeStatusFacts {
  readonly proxies: Readonly<Record<string, { readonly status: string; readonly address?: Text }>>;
  readonly applications: Readonly<
    Record<
      string,
      {
        readonly status: string;
        readonly message: string;
        readonly routePrefix: string | null;
        readonly deployments: Readonly<
          Record<string, { readonly status: string; readonly replicaStates: Readonly<Record<string, number>> }>
        >;
      }
    >
  >;
}

interface CoreLibrary {
  init(options: { address?: string }): Promise<unknown>;
  shutdown(): Promise<void>;
}

/** @param address the cluster to join; undefined: starts a new node */
export async function serveLibrary(folder: string, address: string | undefined): Promise<{ serve: ServeLibrary; core: CoreLibrary }> {
  const core = (await importFor(folder, "shoal")) as CoreLibrary;
  const serve = (await importFor(folder, "shoal/serve")) as ServeLibrary;
  if (address !== undefined) await core.init({ address });
  return { serve, core };
}

/**
 * Runs a command's work with the library, and converts thrown errors to this program's classes: those of the user's copy of Shoal differ.
 *
 * @throws ShoalError: with the message of errors that name their remedy, and with the stack of the user's
 */
export async function withLibrary<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ShoalError || !(error instanceof Error)) throw error;
    const { reason, hint, details, code } = error as Error & Partial<ShoalError>;
    const isPlain = typeof code === "string" && typeof reason === "string";
    throw new ShoalError(isPlain ? error.message : (error.stack ?? error.message), {
      reason: reason ?? error.message,
      ...(hint !== undefined && { hint }),
      ...(details !== undefined && { details }),
      cause: error,
    });
  }
}
