/**
 * The source of commands about state: the cluster of this machine, or a history folder that `--from` names.
 *
 * Each source is loaded on use, so a command that reads a folder loads nothing of connections.
 * A command line that names both is refused.
 */
import type { StateReader } from "../../state/state-reader.ts";
import { UsageError } from "../command.ts";

export const FROM = {
  valueName: "FOLDER",
  isList: true,
  help: "read the history in a run's folder instead of a living cluster; several for several machines of one cluster",
} as const;

interface Source {
  readonly from: readonly string[];
  readonly address: string | undefined;
}

/** @throws UsageError where both are named, ShoalError where there is no cluster or no history */
export async function withReader<T>(command: string, { from, address }: Source, read: (reader: StateReader) => Promise<T>): Promise<T> {
  if (from.length > 0) {
    if (address !== undefined) throw new UsageError(`Cannot run shoal ${command}: --from and --address exclude each other.`);
    const { HistoryReader } = await import("../../state/history-reader.ts");
    return await read(new HistoryReader(...from));
  }
  const [{ connectToCluster }, { LiveReader }] = await Promise.all([
    import("../../connection/cluster-connection.ts"),
    import("../../state/live-reader.ts"),
  ]);
  using cluster = await connectToCluster(address);
  return await read(new LiveReader((type, header, options) => cluster.ask(type, header, options)));
}
