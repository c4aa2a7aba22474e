/**
 * Words the node's answer about a demand: the missing resources, their holders, and demands that no node can ever meet.
 *
 * The file also makes the public form of an explanation, which prints as a tree. It is pure: `why.ts` asks the node,
 * and passes the answer here.
 */
import type { LeaseReportHeader, WhyHeader } from "../../runtime/wire/calls/why-messages.ts";
import type { Why, WhyState } from "../options/scheduling-types.ts";

export function leaseReason(report: LeaseReportHeader): Pick<WhyHeader, "state" | "reason" | "details"> {
  const { refusal, obstacle, pendingGroup, lacking, holders, workersStarting } = report;
  const details = { lacking, holders };
  if (refusal !== undefined) return { state: "can never run", reason: refusal, details };
  if (pendingGroup !== undefined) {
    const reason = `placement group ${pendingGroup} is not reserved yet${lacking.length === 0 ? "" : `: ${lackingText(lacking)}${heldText(holders)}`}`;
    return { state: "waits for a placement group", reason, details };
  }
  if (obstacle !== undefined) return { state: "can never run", reason: `as things are, it ${obstacle}`, details };
  if (lacking.length > 0) return { state: "waits for resources", reason: `${lackingText(lacking)}${heldText(holders)}`, details };
  const starting =
    workersStarting > 0 ? `${workersStarting} worker${workersStarting === 1 ? " is" : "s are"} starting` : "its lease is on the way";
  return { state: "waits for a worker", reason: starting, details };
}

function lackingText(lacking: LeaseReportHeader["lacking"]): string {
  return lacking.map(({ name, wanted, free }) => `it needs ${wanted} ${name}, of which ${free} is free`).join(", ");
}

export function heldText(holders: LeaseReportHeader["holders"]): string {
  if (holders.length === 0) return "";
  const parts = holders.map(({ name, resources }) => {
    const amounts = Object.entries(resources).map(([resource, amount]) => `${amount} ${resource}`);
    return `${name} (${amounts.join(", ")})`;
  });
  return `; held by ${parts.join(", ")}`;
}

/** Makes the public form. */
export function whyFrom(header: WhyHeader): Why {
  const causes = header.causes.map(whyFrom);
  const why: Why = {
    what: header.what,
    state: header.state as WhyState,
    reason: header.reason,
    causes,
    details: header.details,
    toString: () => lines(why).join("\n"),
  };
  // Methods would be printed with each node.
  Object.defineProperty(why, "toString", { enumerable: false });
  Object.defineProperty(why, Symbol.for("nodejs.util.inspect.custom"), { value: () => why.toString() });
  return why;
}

function lines(why: Why): string[] {
  const all = [`${why.what} ${why.state}: ${why.reason}`];
  why.causes.forEach((cause, index) => {
    const isLast = index === why.causes.length - 1;
    lines(cause).forEach((line, at) => all.push(`${at === 0 ? (isLast ? "└─ " : "├─ ") : isLast ? "   " : "│  "}${line}`));
  });
  return all;
}
