/**
 * Flags with which workers start, so that their inspectors can be opened later.
 *
 * The inspector stays closed and costs nothing. Port 0 is any free one, and the address is told to standard error alone, so no other user of
 * the machine can list it. Daemons that have only begun to load import this file.
 */

/** Flags of a worker. None where the user's flags are about the inspector already. */
export function inspectorFlags(execArgv: readonly string[], nodeOptions: string | undefined): string[] {
  if ([...execArgv, nodeOptions ?? ""].some((flag) => /--inspect|--disable-sigusr1/.test(flag))) return [];
  return ["--inspect-port=127.0.0.1:0", "--inspect-publish-uid=stderr"];
}
