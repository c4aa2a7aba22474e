/**
 * Extensions of the head, which hear of processes and nodes.
 *
 * Timers run as events of the head, so that changes are committed before anybody hears of them. The leader owns this object; followers have
 * none.
 */
import type { NodeId } from "../base/ids.ts";
import type { Extension, HeadContext, HeadParts } from "../extension/extension.ts";
import { ExtensionHost } from "../extension/extension-host.ts";
import { telemetryExtension } from "../events/telemetry-extension.ts";
import type { NodeServices } from "../rpc/head-service.ts";
import type { PlacementGroups } from "./placement/placement-groups.ts";
import type { ExtensionRecords } from "./extension-records.ts";

interface HeadExtensionsOptions {
  readonly extensions: readonly Extension[];
  readonly records: ExtensionRecords;
  readonly nowMs: () => number;
  readonly warn: (text: string) => void;
  readonly node: (id: NodeId) => Pick<NodeServices, "tellExtension"> | undefined;
  readonly groups: Pick<PlacementGroups, "reserve" | "release">;
  /** Runs one event of the head. */
  readonly run: (body: () => void) => void;
}

export class HeadExtensions extends ExtensionHost<HeadParts> {
  constructor({ extensions, records, nowMs, warn, node, groups, run }: HeadExtensionsOptions) {
    super("the head");
    const every = (periodMs: number, body: () => void): void => this.every(periodMs, () => run(body));
    for (const { name, head } of [telemetryExtension, ...extensions])
      if (head !== undefined) {
        const tellNode: HeadContext["tellNode"] = (id, message, header) => {
          const known = node(id);
          known?.tellExtension({ extension: name, message, header });
          return known !== undefined;
        };
        const table: HeadContext["table"] = (named, shape) => records.table(name, named, shape);
        const reserve: HeadContext["reserve"] = (id, wanted) => groups.reserve(id, { ...wanted, by: name });
        this.begin(name, () => head({ nowMs, every, warn, tellNode, table, reserve, release: (id) => groups.release(id) }));
      }
  }

  nodeJoined(node: NodeId): void {
    for (const parts of this.parts) parts.nodeJoined?.(node);
  }

  reserved(id: string, node: NodeId): void {
    for (const parts of this.parts) parts.reserved?.(id, node);
  }

  nodeGone(node: NodeId, reason: string): void {
    for (const parts of this.parts) parts.nodeGone?.(node, reason);
  }
}
