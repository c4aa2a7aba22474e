/**
 * The versions of an application's deployments: each a hash of its code, of the modules that the code imports, and of all configuration that needs new replicas.
 *
 * Equal code has one version whichever process captured it. Deployments that share a class which goes by value change together: its identity differs from process to process, and
 * replicas that got it from two of them would not know each other's instances.
 */
import { createHash, randomUUID } from "node:crypto";
import { comparableOfKept } from "../../core/internal.ts";
import type { CodeSource } from "../replica/replica.ts";
import type { FileDigest } from "./file-digest.ts";
import { digestOfModules } from "./module-files.ts";

/** A deployment whose version is wanted. */
interface Versioned {
  readonly code: CodeSource | undefined;
  /** Configuration whose change needs new replicas. */
  readonly heavy: string;
}

/** A version, and the files of modules that count for it. */
interface VersionOfCode {
  readonly version: string;
  readonly files: readonly FileDigest[];
}

/** The versions of deployments, in their order. */
export function versionsOf(deployments: readonly Versioned[]): VersionOfCode[] {
  const compared = deployments.map(({ code }) => {
    // Code that captures references cannot be compared, so each deployment of it is a new version.
    if (!(code instanceof Uint8Array)) return { digest: randomUUID(), identities: new Set<string>(), files: [] };
    const { parts, identities, ...imported } = comparableOfKept(code);
    const { digest, files } = digestOfModules(imported);
    return { digest: hashOf(...parts, digest), identities, files };
  });
  const users = Map.groupBy(
    compared.flatMap(({ identities }, index) => [...identities].map((identity) => ({ identity, index }))),
    ({ identity }) => identity,
  );
  const sharing = new Set([...users.values()].flatMap((of) => (of.length > 1 ? of.map(({ index }) => index) : [])));
  const shared = [...sharing]
    .map((index) => hashOf(compared[index]?.digest ?? "", deployments[index]?.heavy ?? ""))
    .toSorted((left, right) => (left < right ? -1 : 1));
  return compared.map(({ digest, files }, index) => {
    const version = hashOf(digest, JSON.stringify(sharing.has(index) ? shared : []), deployments[index]?.heavy ?? "").slice(0, 16);
    return { version, files };
  });
}

function hashOf(...parts: (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}
