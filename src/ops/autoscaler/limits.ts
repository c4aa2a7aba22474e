/** Limits on the autoscaler, on providers, and on a cluster file. */

/** Size of a cluster file. */
export const FILE_BYTES_MAX = 1024 * 1024;
/** Node types of a cluster, and the nodes of all types together. */
export const NODE_TYPES_MAX = 200;
export const WORKERS_MAX = 10_000;
/** Machines of the provider ssh. */
export const MACHINES_MAX = 1_000;
/** Aliases of a cluster file: each is looked up in the whole document. */
export const ALIASES_MAX = 1_000;

/** Time between two plans where something waits or changes, and where nothing does. */
export const PLANS_EVERY_MS = 100;
export const LOOKS_EVERY_MS = 250;
/** A plan that takes long comes less often: the pause is at least so many times its duration. */
export const PLAN_SHARE = 4;
/** Time between two lists of a provider. */
export const LISTS_EVERY_MS = 1_000;
/** Time limit of a provider's list and of an end of instances. */
export const PROVIDER_ANSWERS_WITHIN_MS = 30_000;
/** Time limit of a launch: after it, the provider's list decides whether the instance exists. */
export const LAUNCH_ANSWERS_WITHIN_MS = 120_000;
/** Launches in one call of a provider. */
export const LAUNCH_BATCH_MAX = 100;
/** Tries of a launch whose answer was lost. */
export const LAUNCH_TRIES_MAX = 3;
/** Launches that may be under way for any number of nodes. */
export const LAUNCHES_MIN = 5;
/** An instance that runs joins the cluster within this time, or is given up. */
export const JOINS_WITHIN_MS = 600_000;
/** An instance that its provider does not list is believed to exist for so long: lists lag. */
export const UNLISTED_FOR_MS = 30_000;
/** An end that the provider has not carried out is asked for again after this time. */
export const ENDS_AGAIN_AFTER_MS = 10_000;
/** A drain that the head has accepted is asked for again after this time. */
export const DRAINS_AGAIN_AFTER_MS = 10_000;

/** First and longest pause of a type whose launch failed; each failure doubles the pause. */
export const BACK_OFF_MIN_MS = 10_000;
export const BACK_OFF_MAX_MS = 600_000;

/** The acting autoscaler renews its right to act this often, and loses it after this time. */
export const RENEWS_EVERY_MS = 1_000;
export const ACTS_FOR_MS = 15_000;
/** Instances in one message between the autoscaler and the head. */
export const RECORDS_PER_MESSAGE_MAX = 200;
/** Ended instances that the head remembers; the oldest are forgotten. */
export const ENDED_KEPT_MAX = 200;
/** Waiting shapes whose fate the autoscaler tells the head. */
export const VERDICTS_MAX = 4_096;
/** Length of a provider's message that is kept. */
export const MESSAGE_LENGTH_MAX = 1_000;
/** Life of the token with which an instance joins. */
export const JOIN_TOKEN_AGE_MS = 3_600_000;
/** Letters of a cluster's name in its instances' names: with a hyphen and twelve digits they are 63. */
export const NAME_PREFIX_LENGTH_MAX = 50;
