/**
 * The text of `shoal status`, from the head's answer. Pure.
 *
 * Nodes are named by the first digits of their ids, which the other commands take, too. Parts without anything to say are left out, but for the nodes.
 * Memory is shown in powers of 1000, like disks, and everything else as the number that programs ask for.
 */
import { formatAddress } from "../../../runtime/os/network/network-address.ts";
import type { Of } from "../../../runtime/wire/header-shape.ts";
import type { autoscalerReport } from "../../autoscaler/autoscaler-messages.ts";
import type { ClusterStatusHeader } from "../../../runtime/wire/cluster/cluster-messages.ts";

export interface StatusFacts extends ClusterStatusHeader {
  readonly address: string;
  /** Known on the head's machine. */
  readonly dashboardUrl?: string | undefined;
  readonly thisNodeId: string;
  /** The autoscaler's last report; absent in a cluster without one. */
  readonly autoscaler?: AutoscalerReport | undefined;
  readonly actors: Readonly<Record<string, number>>;
  readonly groups: Readonly<Record<string, number>>;
}

type AutoscalerReport = Pick<Of<typeof autoscalerReport>, "types" | "problem">;

const ID_DIGITS = 12;

export function statusText(facts: StatusFacts, nowMs: number): string {
  const { nodes, waiting, gone } = facts;
  return [
    `Cluster at ${facts.address}, whose head has run for ${duration(nowMs - facts.startedMs)}`,
    ...(facts.dashboardUrl === undefined ? [] : [`Dashboard at ${facts.dashboardUrl}`]),
    ...(facts.stalled === undefined ? [] : [`The head ${facts.stalled}: new actors, names, placement groups and kvPut wait.`]),
    ...part(
      "Heads",
      (facts.heads ?? []).map((address, index) => `${formatAddress(address)}   ${index === 0 ? "leads" : "stands by"}`),
    ),
    ...part(
      "Nodes",
      table(
        nodes.map(({ nodeId, hostname, state, total, free }) => [
          nodeId.slice(0, ID_DIGITS),
          hostname,
          state,
          usage(total, free),
          nodeId === facts.thisNodeId ? "(this machine)" : "",
        ]),
      ),
    ),
    ...part("In use", nodes.length > 1 ? [usage(sum(nodes.map(({ total }) => total)), sum(nodes.map(({ free }) => free)))] : []),
    ...part(
      "Waiting for room",
      waiting.map(
        ({ resources, count, isInfeasible, verdict }) =>
          `${count} × ${shape(resources)}${verdict === undefined ? (isInfeasible ? ": no node can ever hold it" : "") : `: ${verdict}`}`,
      ),
    ),
    ...autoscalerPart(facts.autoscaler),
    ...part("Actors", counts(facts.actors)),
    ...part("Placement groups", counts(facts.groups)),
    ...part(
      "Nodes that have gone",
      table(
        gone.map(({ nodeId, hostname, reason, goneMs }) => [
          nodeId.slice(0, ID_DIGITS),
          hostname,
          goneMs === undefined ? "at an unknown time" : `${duration(nowMs - goneMs)} ago`,
          reason,
        ]),
      ),
    ),
  ].join("\n");
}

function autoscalerPart(report: AutoscalerReport | undefined): string[] {
  if (report === undefined) return [];
  const types = report.types.map(({ name, running, coming, leaving, maxWorkers, problem }) => [
    name,
    `${running} of ${maxWorkers}`,
    [
      ...(coming > 0 ? [`${coming} coming`] : []),
      ...(leaving > 0 ? [`${leaving} leaving`] : []),
      ...(problem === undefined ? [] : [problem]),
    ].join(", "),
  ]);
  return part("Launched nodes", [...table(types), ...(report.problem === undefined ? [] : [report.problem])]);
}

function part(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
}

function counts(states: Readonly<Record<string, number>>): string[] {
  const all = Object.entries(states).map(([state, count]) => `${count} ${state}`);
  return all.length === 0 ? [] : [all.join(", ")];
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** `CPU 1/4, memory 0 B/16 GB`: CPUs first, then GPUs, then by name. */
function usage(total: Readonly<Record<string, number>>, free: Readonly<Record<string, number>>): string {
  const names = Object.keys(total).toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return names
    .map((name) => `${name} ${amount(name, (total[name] ?? 0) - (free[name] ?? 0))}/${amount(name, total[name] ?? 0)}`)
    .join(", ");
}

function rank(name: string): number {
  const place = ["CPU", "GPU", "memory"].indexOf(name);
  return place < 0 ? 3 : place;
}

function shape(resources: Readonly<Record<string, number>>): string {
  const all = Object.entries(resources).map(([name, value]) => `${name} ${amount(name, value)}`);
  return all.length === 0 ? "no resources" : all.join(", ");
}

function amount(name: string, value: number): string {
  return name === "memory" ? bytes(value) : String(Math.round(value * 10_000) / 10_000);
}

function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const place = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1000 ** place;
  return `${scaled < 10 ? Math.round(scaled * 10) / 10 : Math.round(scaled)} ${units[place]}`;
}

function sum(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const one of all) for (const [name, value] of Object.entries(one)) found[name] = (found[name] ?? 0) + value;
  return found;
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
