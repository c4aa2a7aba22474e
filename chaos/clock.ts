/** The clock that all processes of a machine share, in milliseconds: what a worker and the driver wrote down can be compared. */
export function nowMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
