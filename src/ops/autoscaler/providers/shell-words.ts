/** Words of commands that a shell reads: on another machine, or in the script of a job. Pure. */

/** Quotes a word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_./:=,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
