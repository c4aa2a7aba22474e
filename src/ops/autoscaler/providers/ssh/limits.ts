/** Limits of the provider `ssh`: on its connections, on commands that set a machine up, and on ends of nodes. */

/** Programs of ssh at a time. */
export const CONNECTIONS_MAX = 32;
/** A machine that does not answer is given up after this time, and looked at again after the next. */
export const CONNECTS_WITHIN_SECONDS = 10;
/** A short question to a machine, the connection included. */
export const MACHINE_ANSWERS_WITHIN_MS = 20_000;
export const MACHINE_LOOKS_EVERY_MS = 5_000;
/** The first list waits so long for machines that do not answer. */
export const FIRST_LOOK_WITHIN_MS = 15_000;
/** A command of `setup_commands` and the like, or a copy of `file_mounts`. */
export const SETUP_COMMAND_WITHIN_MS = 1_800_000;
/** A node joins the cluster within this time from its start. */
export const NODE_STARTS_WITHIN_SECONDS = 120;
/** A node that has not ended after this time is killed. */
export const NODE_ENDS_WITHIN_SECONDS = 20;
/** Last part of a failed command's output that is kept as the cause. */
export const CAUSE_LENGTH_MAX = 700;
