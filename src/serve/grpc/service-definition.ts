/**
 * The definition of a gRPC service as `@grpc/proto-loader` makes it, and the loading of the packages.
 *
 * The packages are optional peers, loaded by programs and proxies that offer gRPC, and nowhere else. Types of theirs stay below this file: the package's published types have to compile
 * where they are not installed.
 */
import type { ServiceDefinition } from "@grpc/grpc-js";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryRoot } from "../../core/internal.ts";
import { DeployFailedError } from "../errors.ts";
import type { LoadedService } from "./proto-files.ts";

/** Form of messages in user code: names in camel case, 64-bit numbers and enums as text, bytes as `Buffer`. */
const MESSAGE_FORM = { longs: String, enums: String, defaults: true, oneofs: true } as const;

/**
 * The definition of a service, from the texts that came with the options.
 *
 * @throws RangeError where the file has no such service; the parser's error for a file
 */
export async function definitionOf({ service, main, files }: LoadedService): Promise<ServiceDefinition> {
  const { loadSync } = await grpcPackage("@grpc/proto-loader", () => import("@grpc/proto-loader"));
  // The package reads files alone.
  const folder = mkdtempSync(join(temporaryRoot(), "shoal-proto-"));
  try {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    const found = loadSync(main, { ...MESSAGE_FORM, includeDirs: [folder] });
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
