/**
 * Returns the time of the clock that all processes of a machine share, in milliseconds. Logs of workers and of the driver can be compared.
 */
export function nowMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
