/**
 * The versions of this package and of Node that a process runs, and whether processes of two machines may share a cluster.
 *
 * Values travel in a form of the package, some of them in one of V8, and functions travel as source code. Another version of the package or
 * another major version of Node may read them differently, so a node refuses to join such a cluster, and a program to use such a node.
 */
import { VersionMismatchError } from "../../base/errors.ts";
import { packageVersion } from "../own-files.ts";

export interface Build {
  readonly shoal: string;
  readonly node: string;
}

/** The environment variable by which a user takes the risk. */
const ALLOWS_OTHERS = "SHOAL_ALLOW_OTHER_VERSIONS";

export function ownBuild(): Build {
  return { shoal: packageVersion(), node: process.versions.node };
}

/**
 * @param options.who - has the other build: "the head", "the node"
 * @throws VersionMismatchError when the versions differ and the environment does not allow it
 */
export function requireSameBuild(theirs: Build, { own = ownBuild(), action, who }: { own?: Build; action: string; who: string }): void {
  const difference = differenceOf(own, theirs);
  if (difference === undefined || process.env[ALLOWS_OTHERS] === "1") return;
  const reason = `this process runs ${difference.own}, ${who} ${difference.theirs}`;
  throw new VersionMismatchError(`Cannot ${action}: ${reason}`, {
    reason,
    hint: `Run the same version of shoal and the same major version of Node on all machines. ${ALLOWS_OTHERS}=1 skips this check; values and functions may then be unreadable on the other side.`,
    details: { own, theirs },
  });
}

function differenceOf(own: Build, theirs: Build): { own: string; theirs: string } | undefined {
  if (own.shoal !== theirs.shoal) return { own: `shoal ${own.shoal}`, theirs: `shoal ${theirs.shoal}` };
  return majorOf(own.node) === majorOf(theirs.node) ? undefined : { own: `Node ${own.node}`, theirs: `Node ${theirs.node}` };
}

function majorOf(version: string): string {
  return version.split(".", 1)[0] as string;
}
