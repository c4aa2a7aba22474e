/**
 * The user of this process, who may have a number and no name, as in a container that was started for another user (`docker run --user 12345`).
 *
 * Node's `userInfo` and `homedir` look names up and fail there. All code that needs the user asks here.
 */
import { homedir, userInfo } from "node:os";
import { ShoalError } from "../base/errors.ts";

/** -1 on Windows, which has no such numbers. */
export function userNumber(): number {
  return process.getuid?.() ?? userInfo().uid;
}

/** @throws ShoalError for a user without a home folder */
export function homeFolder(): string {
  try {
    return homedir();
  } catch (cause) {
    throw new ShoalError(`Cannot find the home folder of user ${userNumber()}: the system does not know this user, and HOME is not set.`, {
      reason: "no home folder",
      hint: "Set HOME, or XDG_STATE_HOME and XDG_CACHE_HOME, to folders that this user may write in.",
      cause,
    });
  }
}
