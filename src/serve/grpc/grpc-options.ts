/**
 * Options of gRPC: where the proxies listen for it, and which services of which `.proto` files are offered.
 *
 * Decides that the files are read, and a mistake in them is found, where `serve.start` is called: proxies on other machines get their texts.
 * The resolved options are JSON, as they travel to the proxies and lie in the cluster's store.
 */
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { count, custom, describeValue, flag, readOptions, text } from "../../core/internal.ts";
import { GRPC_MESSAGE_BYTES_MAX } from "../limits.ts";
import { type RequestTimeout, requestTimeout } from "../proxy/options/http-options.ts";
import { type ResolvedTlsOptions, tlsOption, type TlsOptions } from "../proxy/options/tls-options.ts";
import { OWN_SERVICES } from "./grpc-services.ts";
import { type LoadedService, loadService } from "./proto-files.ts";
import { definitionOf } from "./service-definition.ts";

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
  /** The methods of these services are those of the ingress. Default: none, which leaves health, Ray's API and reflection. */
  services?: readonly GrpcService[] | undefined;
  /** How long a call may take, in addition to the client's deadline; `Infinity`: no limit. Default: 600,000 for a call of one message and one answer, and no limit for streams. */
  requestTimeoutMs?: number | undefined;
  /** The largest message of a client. Default: 4 MiB. */
  maxMessageBytes?: number | undefined;
  /** Speak TLS, with a certificate of the clients' where `ca` is given. Default: in the clear. */
  tls?: TlsOptions | undefined;
  /** Tools such as grpcurl may ask for the services and their messages. Default: true. */
  reflection?: boolean | undefined;
}

/** As the proxies get it: JSON. */
export interface ResolvedGrpcOptions {
  readonly host: string;
  readonly port: number;
  readonly services: readonly LoadedService[];
  readonly requestTimeoutMs: RequestTimeout;
  readonly maxMessageBytes: number;
  readonly tls: ResolvedTlsOptions | undefined;
  readonly reflection: boolean;
}

const SERVICES = custom<readonly GrpcService[]>("an array of { protoFile, service } is needed", [], (value) =>
  Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null) ? "ok" : "wrong type",
);
const GRPC = {
  of: "grpcOptions",
  otherNames: {
    grpc_servicer_functions: "it is services",
    request_timeout_s: "it is requestTimeoutMs, in milliseconds",
    enable_reflection: "it is reflection",
  },
  options: {
    host: text("127.0.0.1"),
    port: count({ min: 0, max: 65_535 }, 9000),
    services: SERVICES,
    requestTimeoutMs: requestTimeout(),
    maxMessageBytes: count({ min: 1 }, GRPC_MESSAGE_BYTES_MAX),
    tls: tlsOption("grpcOptions"),
    reflection: flag(true),
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

/** @throws TypeError, RangeError that name the option; DeployFailedError where a package is missing; the parser's error for a file */
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
    if (OWN_SERVICES.some((own) => own.service === name))
      throw new RangeError(`Cannot set services of grpcOptions: Serve answers ${name} by itself: leave it out`);
    const path = resolve(protoFile instanceof URL ? fileURLToPath(protoFile) : protoFile);
    loaded.push(loadService(name, path, includeDirs?.map((folder) => resolve(folder)) ?? [dirname(path)]));
  }
  const resolved = { ...rest, services: loaded };
  // A mistake is told here, and not by a proxy.
  for (const service of loaded) await definitionOf(service);
  return resolved;
}
