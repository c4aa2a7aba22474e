/**
 * Days and moments as texts, by the codes of C's `strftime` in its own language, all in UTC.
 *
 * `%S` and `%T` have, as in Arrow and in Ray, as many digits behind the point as the column's unit has.
 * Formats are checked where the user wrote them.
 */
import { type DataType, STRING, type TimeUnit } from "../../blocks/data-type.ts";
import { isNull, nullVector, type Vector } from "../../blocks/vector.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { isNullOperand, type Kernel, type Operand } from "../operations/operand.ts";
import { type CalendarDay, cycle, dayOf, MS_PER_DAY, msOf, requireMoments } from "./times.ts";

interface Moment extends CalendarDay {
  readonly ms: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** From 0, Sunday. */
  readonly weekday: number;
  /** The point and the digits behind it, or nothing. */
  readonly fraction: string;
}

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;

const pad = (value: number, digits = 2): string =>
  value < 0 ? `-${String(-value).padStart(digits, "0")}` : String(value).padStart(digits, "0");
const inCentury = (year: number): string => pad(((year % 100) + 100) % 100);
const hour12 = ({ hour }: Moment): string => pad(hour % 12 === 0 ? 12 : hour % 12);
const clock = ({ hour, minute, second }: Moment): string => `${pad(hour)}:${pad(minute)}:${pad(second)}`;
const half = ({ hour }: Moment): string => (hour < 12 ? "AM" : "PM");
const shortDay = ({ weekday }: Moment): string => (DAYS[weekday] as string).slice(0, 3);
const shortMonth = ({ month }: Moment): string => (MONTHS[month - 1] as string).slice(0, 3);
const slashed = ({ year, month, day }: Moment): string => `${pad(month)}/${pad(day)}/${inCentury(year)}`;
/** Number of the week of the year whose first day is the first Sunday, or Monday: days before it are in week 0. */
const weekFrom = ({ dayOfYear, weekday }: Moment, first: 0 | 1): string =>
  pad(Math.floor((dayOfYear + 6 - ((weekday + 7 - first) % 7)) / 7));
/** Thursday of the week that begins on Monday, which says to which year the week belongs. */
const thursday = ({ ms, weekday }: Moment): CalendarDay => dayOf(ms + (4 - (weekday === 0 ? 7 : weekday)) * MS_PER_DAY);

const CODES: Readonly<Record<string, (moment: Moment) => string>> = {
  Y: ({ year }) => pad(year, 4),
  y: ({ year }) => inCentury(year),
  C: ({ year }) => pad(Math.floor(year / 100)),
  m: ({ month }) => pad(month),
  d: ({ day }) => pad(day),
  e: ({ day }) => String(day).padStart(2),
  H: ({ hour }) => pad(hour),
  I: hour12,
  M: ({ minute }) => pad(minute),
  S: ({ second, fraction }) => pad(second) + fraction,
  p: half,
  j: ({ dayOfYear }) => pad(dayOfYear, 3),
  a: shortDay,
  A: ({ weekday }) => DAYS[weekday] as string,
  b: shortMonth,
  h: shortMonth,
  B: ({ month }) => MONTHS[month - 1] as string,
  u: ({ weekday }) => String(weekday === 0 ? 7 : weekday),
  w: ({ weekday }) => String(weekday),
  U: (moment) => weekFrom(moment, 0),
  W: (moment) => weekFrom(moment, 1),
  V: (moment) => pad(Math.floor((thursday(moment).dayOfYear - 1) / 7) + 1),
  G: (moment) => pad(thursday(moment).year, 4),
  g: (moment) => inCentury(thursday(moment).year),
  D: slashed,
  x: slashed,
  F: ({ year, month, day }) => `${pad(year, 4)}-${pad(month)}-${pad(day)}`,
  R: ({ hour, minute }) => `${pad(hour)}:${pad(minute)}`,
  T: (moment) => clock(moment) + moment.fraction,
  X: clock,
  r: (moment) => `${hour12(moment)}:${pad(moment.minute)}:${pad(moment.second)} ${half(moment)}`,
  c: (moment) => `${shortDay(moment)} ${shortMonth(moment)} ${String(moment.day).padStart(2)} ${clock(moment)} ${pad(moment.year, 4)}`,
  z: () => "+0000",
  Z: () => "UTC",
  n: () => "\n",
  t: () => "\t",
  "%": () => "%",
};

/** The first code of a format that has no meaning, such as `%f`; undefined where all have one. */
export function unknownCode(format: string): string | undefined {
  return [...format.matchAll(/%(.?)/gsu)].find(([, code]) => !Object.hasOwn(CODES, code as string))?.[0];
}

export const CODE_NAMES: string = Object.keys(CODES).join("");

export const timeText: Kernel = (inputs, length, [format]) => {
  requireMoments(inputs);
  const input = inputs[0] as Operand;
  if (isNullOperand(input)) return nullVector(STRING, length);
  const { vector } = input;
  const fractionOf = fractions(vector);
  const ms = msOf(vector);
  const texts = Array.from({ length }, (_, row) => {
    if (isNull(vector, row)) return null;
    const moment = momentOf(ms[row] as number, fractionOf(row));
    return (format as string).replace(/%(.)/gsu, (_code, code: string) => (CODES[code] as (moment: Moment) => string)(moment));
  });
  return buildVector(texts, STRING);
};

function momentOf(ms: number, fraction: string): Moment {
  return {
    ...dayOf(ms),
    ms,
    hour: cycle(ms, 3_600_000, 24),
    minute: cycle(ms, 60_000, 60),
    second: cycle(ms, 1000, 60),
    weekday: cycle(ms + 4 * MS_PER_DAY, MS_PER_DAY, 7),
    fraction,
  };
}

const DIGITS: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };

/** The point and the digits behind the seconds of a row. */
function fractions({ type, values }: Vector): (row: number) => string {
  const digits = type.kind === "date" ? 0 : DIGITS[(type as DataType & { kind: "timestamp" }).unit];
  if (digits === 0) return () => "";
  const perSecond = 10n ** BigInt(digits);
  return (row) => {
    const rest = ((values as BigInt64Array)[row] as bigint) % perSecond;
    return `.${String(rest < 0n ? rest + perSecond : rest).padStart(digits, "0")}`;
  };
}
