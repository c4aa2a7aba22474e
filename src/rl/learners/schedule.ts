/** Numbers that change with the environment steps: one number, or points `[step, value]` with straight lines between them. */
import { custom, type Option } from "../../core/internal.ts";

export type Schedule = number | readonly (readonly [number, number])[];

/** An option that takes a schedule whose values a predicate accepts. */
export function schedule<T extends Schedule | undefined>(
  allowed: string,
  fallback: T,
  isAllowed: (value: number) => boolean,
): Option<Schedule | T> {
  return custom<Schedule | T>(`${allowed}, or a list of [step, value] with rising steps from 0, is needed`, fallback, (value) => {
    if (typeof value === "number") return isAllowed(value) ? "ok" : "out of range";
    if (!Array.isArray(value) || value.length === 0) return "wrong type";
    const points = value as readonly (readonly [number, number])[];
    const isRising = points.every(([step], index) =>
      index === 0 ? step === 0 : step > (points[index - 1] as readonly [number, number])[0],
    );
    return isRising && points.every(([, number]) => typeof number === "number" && isAllowed(number)) ? "ok" : "out of range";
  });
}

/** The value at a step. The last point holds for all later steps. */
export function scheduled(value: Schedule, step: number): number {
  if (typeof value === "number") return value;
  const next = value.findIndex(([at]) => at > step);
  if (next === 0) return (value[0] as readonly [number, number])[1];
  const [from, before] = value.at(next < 0 ? -1 : next - 1) as readonly [number, number];
  if (next < 0) return before;
  const [to, after] = value[next] as readonly [number, number];
  return before + ((after - before) * (step - from)) / (to - from);
}
