/**
 * The head's part of the autoscaler: the table of instances, the cluster file, and the last report.
 *
 * A head that is started with a cluster file loads this module. It decides nothing about nodes.
 */
import { answering, type Extension } from "../../runtime/extension/extension.ts";
import { count, fields, type Of, text } from "../../runtime/wire/header-shape.ts";
import { AUTOSCALER_EXTENSION, type autoscalerReport, autoscalerMessages } from "./autoscaler-messages.ts";
import { instanceShape } from "./instances/instance.ts";
import { InstanceTable } from "./instances/instance-table.ts";
import { ACTS_FOR_MS, RECORDS_PER_MESSAGE_MAX } from "./limits.ts";

const stateShape = fields({ fence: count, configVersion: count, configText: text });

const extension: Extension = {
  name: AUTOSCALER_EXTENSION,
  head: ({ nowMs, table }) => {
    const instances = table("instances", instanceShape);
    const states = table("state", stateShape);
    const known = new InstanceTable({ instances, states }, { actsForMs: ACTS_FOR_MS });
    let report: Of<typeof autoscalerReport> | undefined;
    return {
      messages: answering(autoscalerMessages, {
        acquire: ({ owner }) => known.acquire(owner, nowMs()),
        commit: ({ fence, steps }) => {
          if (steps.length > RECORDS_PER_MESSAGE_MAX)
            throw new RangeError(`at most ${RECORDS_PER_MESSAGE_MAX} steps are taken at a time: received ${steps.length}`);
          known.commit(fence, steps, nowMs());
          return known.state.configVersion;
        },
        page: ({ after, limit }) => known.page(after, Math.min(limit, RECORDS_PER_MESSAGE_MAX)),
        configure: ({ text: given, ifNone }) =>
          ifNone && known.state.configVersion > 0 ? known.state.configVersion : known.configure(given),
        config: () => ({ version: known.state.configVersion, text: known.state.configText }),
        report: (given) => {
          report = given;
          return true;
        },
        status: () => report,
      }),
    };
  },
};

export default extension;
