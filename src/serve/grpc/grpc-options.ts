/**
 * Options of gRPC: where the proxies listen for it, and which services of which `.proto` files are offered.
 *
 * Decides that the files are read where `serve.start` is called: proxies on other machines get their texts. (A set of descriptors would be one value, but the package loses fields of
 * maps on that way.) The packages are optional peers, loaded here and in proxies that offer gRPC, and nowhere else.
 */
import type { ServiceDefinition } from "@grpc/grpc-js";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { count, custom, describeValue, readOptions, temporaryRoot, text, timeLimit } from "../../core/internal.ts";
import { DeployFailedError } from "../errors.ts";
import { GRPC_MESSAGE_BYTES_MAX } from "../limits.ts";

/** A service of a `.proto` file. */
export interface GrpcService {
  /** The file: a path, or `new URL("shop.proto", import.meta.url)`. */
  readonly protoFile: string | URL;
  /** The service's whole name, such as `shop.v1.Shop`. */
  readonly service: string;
  /** Folders in which imports of the file are found. Default: that of the file. */
  readonly includeDirs?: readonly string[] | undefined;
}

/** `grpcOptions` of `serve.start`. */
export interface GrpcOptions {
  /** Default: 127.0.0.1, which nobody else reaches. */
  host?: string | undefined;
  /** Default: 9000; 0 is any that is free. */
  port?: number | undefined;
  /** The methods of these services are those of the ingress. Default: none, which leaves health and Ray's API. */
  services?: readonly GrpcService[] | undefined;
  /** How long a call may take, in addition to the client's deadline. Default: no limit. */
  requestTimeoutMs?: number | undefined;
  /** The largest message of a client. Default: 4 MiB. */
  maxMessageBytes?: number | undefined;
}

/** A service with the texts of its file and of all that this imports, by their names there. */
interface LoadedService {
  readonly service: string;
  readonly files: Readonly<Record<string, string>>;
}

/** As the proxies get it: JSON. */
export interface ResolvedGrpcOptions {
  readonly host: string;
  readonly port: number;
  readonly services: readonly LoadedService[];
  readonly requestTimeoutMs: number | undefined;
  readonly maxMessageBytes: number;
}

const SERVICES = custom<readonly GrpcService[]>("an array of { protoFile, service } is needed", [], (value) =>
  Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null) ? "ok" : "wrong type",
);
const GRPC = {
  of: "grpcOptions",
  otherNames: { grpc_servicer_functions: "it is services", request_timeout_s: "it is requestTimeoutMs, in milliseconds" },
  options: {
    host: text("127.0.0.1"),
    port: count({ min: 0, max: 65_535 }, 9000),
    services: SERVICES,
    requestTimeoutMs: timeLimit(),
    maxMessageBytes: count({ min: 1 }, GRPC_MESSAGE_BYTES_MAX),
  },
};
const SERVICE = {
  of: "a service of grpcOptions",
  options: {
    protoFile: custom<string | URL | undefined>("a path or a URL of a file is needed", undefined, (value) =>
      value instanceof URL || (typeof value === "string" && value !== "") ? "ok" : "wrong type",
    ),
    service: text(undefined),
    includeDirs: custom<readonly string[] | undefined>("an array of folders is needed", undefined, (value) =>
      Array.isArray(value) && value.every((item) => typeof item === "string") ? "ok" : "wrong type",
    ),
  },
};

/** How messages look to user code: names in camel case, 64-bit numbers and enums as text, bytes as `Buffer`. */
export const MESSAGE_FORM = { longs: String, enums: String, defaults: true, oneofs: true } as const;

/** The service's own file among the texts. */
const MAIN_FILE = "shoal-main.proto";
const IMPORT = /^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"\s*;/gm;

/** @throws TypeError, RangeError that name the option; DeployFailedError where a package is missing; what the parser throws for a file */
export async function resolveGrpcOptions(given: GrpcOptions | undefined): Promise<ResolvedGrpcOptions | undefined> {
  if (given === undefined) return undefined;
  const { services, ...rest } = readOptions(given, GRPC);
  const loaded: LoadedService[] = [];
  for (const service of services) {
    const { protoFile, service: name, includeDirs } = readOptions(service, SERVICE);
    if (protoFile === undefined || name === undefined)
      throw new TypeError(`Cannot set services of grpcOptions: protoFile and service are needed: received ${describeValue(service)}`);
    if (loaded.some((other) => other.service === name))
      throw new RangeError(`Cannot set services of grpcOptions: ${name} stands there twice`);
    const path = resolve(protoFile instanceof URL ? fileURLToPath(protoFile) : protoFile);
    const files: Record<string, string> = {};
    readWithImports(path, { name: MAIN_FILE, folders: includeDirs?.map((folder) => resolve(folder)) ?? [dirname(path)], files });
    loaded.push({ service: name, files });
  }
  const resolved = { ...rest, services: loaded };
  // A mistake is told here, and not by a proxy.
  for (const service of loaded) await definitionOf(service);
  return resolved;
}

/**
 * The definition of a service, from the texts that came with the options.
 *
 * @throws RangeError where the file has no such service; what the parser throws for a file
 */
export async function definitionOf({ service, files }: LoadedService): Promise<ServiceDefinition> {
  const { loadSync } = await grpcPackage("@grpc/proto-loader", () => import("@grpc/proto-loader"));
  // The package reads files alone.
  const folder = mkdtempSync(join(temporaryRoot(), "shoal-proto-"));
  try {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    const found = loadSync(MAIN_FILE, { ...MESSAGE_FORM, includeDirs: [folder] });
    const definition = found[service];
    if (definition !== undefined && !("format" in definition)) return definition;
    const known = Object.entries(found).flatMap(([name, { format }]) => (format === undefined ? [name] : []));
    throw new RangeError(
      `Cannot set services of grpcOptions: the file has no service of this name: received ${JSON.stringify(service)}: it has ${known.join(", ") || "none"}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws Error for a file that is not there */
function readWithImports(
  path: string,
  { name, folders, files }: { name: string; folders: readonly string[]; files: Record<string, string> },
): void {
  const content = readFileSync(path, "utf8");
  files[name] = content;
  for (const [, imported] of content.matchAll(IMPORT)) {
    if (imported === undefined || Object.hasOwn(files, imported)) continue;
    // Names stay in the folder into which a proxy writes them.
    if (isAbsolute(imported) || imported.split("/").includes(".."))
      throw new RangeError(`Cannot read ${path}: an import names a file below one of includeDirs: received ${JSON.stringify(imported)}`);
    const found = folders.map((folder) => join(folder, imported)).find((file) => existsSync(file));
    if (found !== undefined) readWithImports(found, { name: imported, folders, files });
    else if (!imported.startsWith("google/protobuf/"))
      throw new RangeError(`Cannot read ${path}: there is no ${imported} in ${folders.join(", ")}: name its folder in includeDirs`);
  }
}

/** @throws DeployFailedError with the command that installs it */
export async function grpcPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new DeployFailedError(`Cannot serve gRPC: the package ${name} cannot be loaded`, {
      reason: "a package is missing",
      hint: 'Install it: npm install "@grpc/grpc-js@^1.12.0" "@grpc/proto-loader@^0.8.0"',
      cause: error,
    });
  }
}
