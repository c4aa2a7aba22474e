/**
 * Makes the stream of a store, and checks that an existing stream was made the same way.
 *
 * Each property has a reason: one message a subject (a table, not a log), no direct reads (they are stale), atomic batches (transactions).
 */
import { ControlPlaneUnavailableError } from "../control-plane/control-plane-errors.ts";
import { STREAM_BYTES_MAX } from "../control-plane/limits.ts";
import type { NatsSubjects } from "./nats-subjects.ts";
import { ApiError, ERROR, type StreamApi } from "./stream-api.ts";

/** A stream without these would break promises of the store. */
const REQUIRED = { allow_direct: false, allow_atomic: true, max_msgs_per_subject: 1 } as const;

export async function openStream(api: StreamApi, { subjects, replicas }: { subjects: NatsSubjects; replicas: number }): Promise<void> {
  const config = {
    ...REQUIRED,
    name: subjects.stream,
    subjects: subjects.all,
    storage: "file",
    retention: "limits",
    discard: "new",
    num_replicas: replicas,
    max_bytes: STREAM_BYTES_MAX,
    max_age: 0,
    allow_rollup_hdrs: true,
    // Compaction deletes.
    deny_delete: false,
    deny_purge: false,
  };
  try {
    await api.call(`STREAM.CREATE.${subjects.stream}`, config);
  } catch (error) {
    // An earlier version made the stream, or another number of replicas was set. Its configuration stays, and is checked below.
    if (!(error instanceof ApiError) || error.failure.err_code !== ERROR.STREAM_EXISTS) throw refusal(subjects.stream, error);
  }
  const { config: found } = await api.call<{ config: Record<string, unknown> }>(`STREAM.INFO.${subjects.stream}`);
  for (const [name, wanted] of Object.entries(REQUIRED)) {
    if ((found[name] ?? false) === wanted) continue;
    throw new ControlPlaneUnavailableError(
      `Cannot use the stream ${subjects.stream} as a control store: its ${name} is ${String(found[name])} and has to be ${String(wanted)}.`,
      { reason: "unsuitable stream", hint: "Somebody else made or changed it. Use another name for the cluster, or remove the stream." },
    );
  }
}

function refusal(stream: string, cause: unknown): unknown {
  if (!(cause instanceof ApiError)) return cause;
  return new ControlPlaneUnavailableError(`Cannot make the stream ${stream}: ${cause.message}.`, {
    reason: "stream refused",
    hint: "A stream with three replicas needs three NATS servers in one cluster, each with JetStream and room on its disk.",
    cause,
  });
}
