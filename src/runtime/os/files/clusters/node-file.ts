/**
 * The file by which a driver finds its machine's node: written by a daemon of a cluster, readable by its user alone, removed with the
 * daemon.
 *
 * The file holds the token, and with certificates the node's key, so the folder has mode 0700 and the file 0600. A file whose daemon has
 * ended is skipped, and removed by the next daemon that starts.
 */
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeId, ProcessId } from "../../../base/ids.ts";
import type { Build } from "../../engine/build.ts";
import { isProcessGone, processIdentity } from "../../processes/process-identity.ts";
import { keepFile, leaveSharedFolder, removeIfEmpty, writeInSharedFolder } from "../sessions/shared-folder.ts";
import { temporaryRoot } from "../sessions/temporary-folder.ts";
import { userNumber } from "../../user.ts";
import type { NetworkFaultsPlace } from "../../network/network-faults.ts";
import type { TlsIdentity } from "../../network/tls-identity.ts";

/** Facts that a driver needs about its node. */
export interface NodeFile {
  /** The head's address, which identifies the cluster; several heads are separated by commas. */
  clusterAddress: string;
  nodeId: NodeId;
  daemonId: ProcessId;
  /** The daemon's versions. */
  build: Build;
  token: string;
  /** The node's identity, if processes of other nodes are reached with a certificate. */
  identity?: TlsIdentity | undefined;
  /** A driver of a test cluster's node is cut off with it. */
  networkFaults?: NetworkFaultsPlace | undefined;
  /** The daemon's own socket. */
  socket: string;
  memoryDirectory: string;
  spillDirectory: string;
  storeQuotaBytes: number;
  labels: Record<string, string>;
  pid: number;
  startedMs: number;
  /** The node is about to leave its cluster: no program should join it any more. */
  isDraining?: boolean | undefined;
}

/** As stored: numbers of processes are used again, so the writer's identity has more. */
interface StoredNodeFile extends NodeFile {
  owner: string;
}

const FOLDER = "shoal-nodes-";

function folder(): string {
  return join(temporaryRoot(), FOLDER + userNumber());
}

/** Whether another user of this machine has, or had, nodes. */
export function hasNodesOfOtherUsers(): boolean {
  return namesIn(temporaryRoot()).some((name) => name.startsWith(FOLDER) && name !== FOLDER + userNumber());
}

function pathOf(nodeId: string): string {
  return join(folder(), `${nodeId}.json`);
}

/** A removed file, as by a cleaner of the temporary folder, is written again until this process removes it. */
export function writeNodeFile(file: NodeFile): void {
  write(file);
  keeping?.stop();
  keeping = { nodeId: file.nodeId, stop: keepFile(pathOf(file.nodeId), () => write(file)) };
}

let keeping: { nodeId: NodeId; stop: () => void } | undefined;

function write(file: NodeFile): void {
  removeStaleNodeFiles();
  const temporary = `${pathOf(file.nodeId)}.${process.pid}`;
  const text = JSON.stringify({ ...file, owner: processIdentity(file.pid) } satisfies StoredNodeFile);
  writeInSharedFolder(folder(), () => {
    writeFileSync(temporary, text, { mode: 0o600 });
    renameSync(temporary, pathOf(file.nodeId));
  });
}

export function removeNodeFile(nodeId: NodeId): void {
  if (keeping?.nodeId === nodeId) keeping.stop();
  leaveSharedFolder(folder(), pathOf(nodeId));
}

/** Removes the files of daemons that were killed. */
export function removeStaleNodeFiles(): void {
  for (const { nodeId, owner } of storedFiles()) if (isProcessGone(owner)) removeNodeFile(nodeId);
  removeIfEmpty(folder());
}

/** The nodes of this machine whose daemons live, the oldest first. */
export function readNodeFiles(): NodeFile[] {
  return storedFiles().filter(({ owner }) => !isProcessGone(owner));
}

function storedFiles(): StoredNodeFile[] {
  const found: StoredNodeFile[] = [];
  for (const name of namesIn(folder())) {
    if (!name.endsWith(".json")) continue;
    try {
      found.push(JSON.parse(readFileSync(join(folder(), name), "utf8")) as StoredNodeFile);
    } catch {
      // Removed meanwhile.
    }
  }
  return found.sort((a, b) => a.startedMs - b.startedMs);
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
