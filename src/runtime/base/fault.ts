/**
 * A fault in a value that a user gave: the reason, and the class of error for it.
 *
 * A wrong type is a `TypeError`, a value out of range a `RangeError`. Made by the checks of options and of runtime environments, which return a fault
 * instead of throwing it, as only their caller knows the beginning of the message.
 */
export interface Fault {
  readonly reason: string;
  readonly error: "wrong type" | "out of range";
}

export function wrongType(reason: string): Fault {
  return { reason, error: "wrong type" };
}

export function outOfRange(reason: string): Fault {
  return { reason, error: "out of range" };
}

export function errorOf({ error }: Fault, message: string): TypeError | RangeError {
  return error === "wrong type" ? new TypeError(message) : new RangeError(message);
}
