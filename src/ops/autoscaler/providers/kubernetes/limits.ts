/** Limits of the provider `kubernetes`: its requests, its watch, and the pods and secrets that it makes. */

/** Time for an answer of the API server. Its own limit is 60 s. */
export const ANSWERS_WITHIN_MS = 20_000;
/** Bytes of an answer: a page of a list holds `PAGE_PODS` pods of some 10 KB each. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Bytes of an event of the watch: an object has at most 1.5 MiB in etcd. */
export const EVENT_BYTES_MAX = 4 * 1024 * 1024;
/** Pods in one page of a list. */
export const PAGE_PODS = 500;
/** Pods of a list in all: above the most nodes of a cluster. */
export const PODS_MAX = 20_000;
/** The API server ends a watch after this time. A connection that was cut without a word is noticed a little later. */
export const WATCH_SECONDS = 120;
export const WATCH_ENDS_WITHIN_MS = (WATCH_SECONDS + 20) * 1_000;
/** Pause before a broken watch begins again: first and longest, doubled each time. */
export const WATCH_PAUSE_MIN_MS = 250;
export const WATCH_PAUSE_MAX_MS = 30_000;
/** Requests of one launch or end that are under way together. */
export const REQUESTS_AT_ONCE = 10;
/** Deleted pods whose late answers are still recognized. */
export const DELETED_KEPT_MAX = 1_000;
/** A token of a service account is read again after this time: Kubernetes renews the file hourly. */
export const TOKEN_AGE_MS = 60_000;
/** A pod whose image is not pulled within this time has failed: the registry may be down for a moment. */
export const IMAGE_WITHIN_MS = 300_000;
/** A deleted node has this time to move its work, unless the template says another. Kubernetes' default is 30 s. */
export const GRACE_SECONDS = 60;
/** Longest grace of a node, as of `--termination-grace-ms`. */
export const GRACE_SECONDS_MAX = 86_400;
/** A deleted pod whose grace was over so long ago is on a lost machine. */
export const FORCED_AFTER_MS = 60_000;
/** Length of a message of Kubernetes that is shown. */
export const TEXT_LENGTH_MAX = 500;
