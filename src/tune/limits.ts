/** Sizes, numbers and times that Tune keeps to, where the user says nothing else. */

/** Metrics of a trial whose aggregates are kept, beside the tuned ones: a finished trial may take two kilobytes of the driver's memory. */
export const AGGREGATED_METRICS_MAX = 4;
