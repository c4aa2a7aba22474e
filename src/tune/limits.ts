/** Sizes, numbers and times that Tune keeps to, where the user says nothing else. */

/** Metrics of a trial whose aggregates are kept, beside the tuned ones: a finished trial may take two kilobytes of the driver's memory. */
export const AGGREGATED_METRICS_MAX = 4;

/** How long a trial may take to leave its process once it was told to: `finally` blocks, a last checkpoint, the cleanup of a class. Then its process is ended. */
export const LEAVE_WITHIN_MS = 10_000;

/** How long a trial that computes may go on when the whole experiment ends, until its next report. */
export const INTERRUPT_WITHIN_MS = 1000;

/** Time after which a warning says that a trial waits for resources: longer than idle actors of another run keep theirs. */
export const WAIT_TOLD_AFTER_MS = 10_000;

/** An idle actor gives its resources back after so long: others may wait for them. */
export const IDLE_ACTOR_MS = 3000;

/** Pause before a searcher that had no configuration is asked again while no trial runs. */
export const ASK_AGAIN_MS = 100;

/** Interval at which the experiment asks for the size of the cluster. */
export const CLUSTER_LOOK_MS = 2000;

/** Pause between snapshots while the log cannot be written: each writes all trials. */
export const SNAPSHOT_AGAIN_MS = 1000;

/** Calls of callbacks that may wait; results wait beyond that. */
export const CALLBACKS_WAITING_MAX = 10_000;

/** Ended trials whose files may still be being written; new trials wait beyond that. */
export const TRIALS_WRITTEN_MAX = 256;

/** How long the end of trials and the last writes may take on Ctrl-C. */
export const INTERRUPTED_RUN_MS = 2000;

/** How often the table of trials is made anew. */
export const TABLE_EVERY_MS = 500;

/** How often the table is printed where there is no terminal, and where it is asked for. */
export const TABLE_PRINTED_EVERY_MS = 5000;

/** Metrics of a line that tells one result. */
export const RESULT_LINE_METRICS = 12;

/** Trials that the table shows, the best first. */
export const TABLE_ROWS = 20;

/** Parameters that the table shows. */
export const TABLE_PARAMETERS = 6;

/** Rows of the report's table, the best first. */
export const REPORT_ROWS = 20;

/** Metrics in the report's table, where none is tuned. */
export const REPORT_METRICS = 6;

/** Lines of the report's parallel coordinates: more would be one grey. */
export const REPORT_LINES = 500;

/** Learning curves of the report, each of which is read from a file. */
export const REPORT_CURVES = 30;

/** Points of one learning curve of the report. */
export const REPORT_CURVE_POINTS = 400;

/** The subfolder of a trial's folder for the output of `exportModel`. */
export const EXPORT_FOLDER = "export";

/** Causes of an error, each the cause of the one before, that the stack of a failed trial shows. */
export const CAUSES_MAX = 5;

/** The files of a run's log begin so. */
export const EXPERIMENT_LOG = "experiment_state";

/** Files of trials that a restore compares with the log at a time: enough to hide the time of a storage that is far away. */
export const CAUGHT_UP_AT_A_TIME = 32;
