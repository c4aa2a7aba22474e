/**
 * The objects of this process: entries, stored bytes, lineage, and messages to the daemon.
 *
 * Connects table, store and lineage, each of which has to know the others' changes. Code above this file reads and writes objects and never connects these parts
 * itself.
 */
import { DaemonChannel } from "../../../runtime/objects/daemon-channel.ts";
import { HandleCollector } from "../../../runtime/objects/references/handle-collector.ts";
import { LINEAGE_PART_OF_STORE } from "../../../runtime/objects/limits.ts";
import { LocalStore } from "../../../runtime/objects/store/local-store.ts";
import type { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import { ObjectTable } from "../../../runtime/objects/object-table.ts";
import type { Payload } from "../../../runtime/objects/payload.ts";
import { QuietCollector } from "../../../runtime/objects/references/quiet-collector.ts";
import type { Connection } from "../../../runtime/rpc/connection.ts";
import { Lineage } from "../../calls/failures/lineage.ts";
import type { RuntimeOptions } from "../../runtime-options.ts";

interface ObjectEvents {
  /** Returns the serialized form of a settled entry that is about to be sent. */
  readonly payloadOf: (entry: ObjectEntry) => Payload;
  /** The last ref of a failed entry has gone, and nobody has awaited it. */
  readonly onUnseenFailure: (entry: ObjectEntry) => void;
}

export class ProcessObjects {
  readonly channel: DaemonChannel;
  readonly table: ObjectTable;
  readonly lineage: Lineage;
  readonly store: LocalStore;

  constructor(options: RuntimeOptions, daemon: Connection, events: ObjectEvents) {
    const { processId, daemonId, role, ids, memoryDirectory, spillDirectory, storeQuotaBytes: quotaBytes } = options;
    const channel = new DaemonChannel({ connection: daemon, daemonId });
    const letCopyGo = (entry: ObjectEntry): void => {
      if (this.store.copies.size > 0) this.store.copies.letGo(entry);
    };
    const quiet = new QuietCollector({
      collect: options.collectGarbage,
      isKeeping: () => table.handleCount > 0 || this.store.mappedCount > 0,
      nowMs: () => performance.now(),
    });
    // A worker's heap is small and its pause nobody's; a driver's may be neither.
    const onTouched = (): void => {
      if (role === "worker") quiet.touched();
    };
    const busy = new HandleCollector({ collect: options.collectGarbage, later: (run) => void setImmediate(run) });
    const table = new ObjectTable({
      ...events,
      processId,
      ownerOfRecord: role === "driver" ? processId : daemonId,
      ids,
      channel,
      freeStored: (location) => this.store.freed(location),
      onReleased: (entry) => {
        this.lineage.released(entry);
        letCopyGo(entry);
      },
      onUnkept: letCopyGo,
      onHandle: (handles) => {
        busy.added(handles);
        onTouched();
      },
      storedHandles: {
        watch: (handle, sizeBytes, onGone) => this.store.handles.watch(handle, sizeBytes, onGone),
        unwatch: (handle) => this.store.handles.unwatch(handle),
      },
      onHandedOver: (location) => this.store.handedOver(location),
    });
    const lineage = new Lineage({ table, processId, storedBytesMax: quotaBytes * LINEAGE_PART_OF_STORE });
    this.channel = channel;
    this.table = table;
    this.lineage = lineage;
    this.store = new LocalStore({
      memoryDirectory,
      spillDirectory,
      processId,
      quotaBytes,
      channel,
      table,
      collectGarbage: () => {
        lineage.dropStored();
        options.collectGarbage();
      },
      earlyCollections:
        options.collectYoungGarbage === undefined
          ? undefined
          : { collectYoung: options.collectYoungGarbage, collect: options.collectGarbage },
      onMapped: onTouched,
    });
  }
}
