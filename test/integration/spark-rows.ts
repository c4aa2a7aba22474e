/** The rows of the files that `test/vectors/data/spark/spark_files.py` writes with Spark, as Shoal reads them. */

/** The values of a column in the first rows; in the others it is null. */
type Columns = Readonly<Record<string, readonly unknown[]>>;

const moments = (...texts: readonly string[]): Date[] => texts.map((text) => new Date(text));

/** Times of Spark have microseconds, of which a Date has the milliseconds. */
export const AT_TEXTS: readonly string[] = ["2026-01-31T10:00:00.123456Z", "1969-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.000000Z"];

const PLAIN: Columns = {
  tiny: [127, -128],
  short: [32767, -32768],
  whole: [2147483647, -2147483648],
  wide: [9007199254740991, -9007199254740991],
  single: [1.5, Number.NaN, Number.NEGATIVE_INFINITY],
  double: [0.1, -0, Number.POSITIVE_INFINITY],
  flag: [true, false],
  text: ["Zürich 東京 😀", "", 'say "hi", twice\n'],
  city: ["Rome", "Oslo", "Rome"],
  bytes: [Uint8Array.of(0, 255, 10), new Uint8Array(0)],
  cents: ["1234567.89", "-0.01"],
  price: ["12345678901234.5678", "-0.0001"],
  digits: ["1234567890123456789012345678.0123456789", "-1.0000000000"],
  day: moments("2024-02-29", "1969-12-31", "9999-12-31"),
  at: moments(...AT_TEXTS.map((text) => `${text.slice(0, 23)}Z`)),
  wall: moments("2026-01-31T10:00:00.123Z", "1900-01-01T00:00:00Z"),
};

/** Intervals are numbers in Parquet: of months, and of microseconds. */
const INTERVALS: Columns = { months: [14], took: [93_784_500_000] };

const NEVER = new Date("9999-12-31T23:59:59Z");

const NESTED: Columns = {
  tags: [["a", "", null], []],
  sure: [[1, 2], [3]],
  grid: [[[1, 2], []], [[3]]],
  pairs: [[{ x: 1 }], []],
  place: [
    { city: "Rome", at: { x: 0.5, y: null } },
    { city: null, at: null },
  ],
  legs: [[{ km: 1.5, to: "Bern" }, null], []],
  codes: [
    [
      { key: "x", value: 1 },
      { key: "y", value: null },
    ],
    [],
  ],
  deep: [[{ key: "k", value: [[{ key: 1, value: NEVER }]] }]],
};

const ROWS = 4;

/** Rows of these columns behind their number. */
function rowsOf(columns: Columns, rows = ROWS): Record<string, unknown>[] {
  return Array.from({ length: rows }, (_, id) => ({
    id,
    ...Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[id] ?? null])),
  }));
}

/** The rows of Parquet in a form. The older one has no intervals and, for other programs, no lists of maps. */
export function rowsOfForm(form: string): Record<string, unknown>[] {
  if (form !== "legacy") return rowsOf({ ...PLAIN, ...INTERVALS, ...NESTED });
  const { deep: _, ...nested } = NESTED;
  return rowsOf({ ...PLAIN, ...nested });
}

/** The values that `partitionBy` makes folders of. For Spark an empty text is no value there. */
export const CITIES: readonly (string | null)[] = ["Rome", "a/b c", "é=ü", "100%", "x:y*?\"'{}[]^#", "東京", null, null];

/** Days as they were written, and as they come from files in Spark's `LEGACY` mode, which counts days before 1582-10-15 by the Julian calendar. */
export const OLD_DAYS: readonly { readonly written: string; readonly legacy: string }[] = [
  { written: "0001-01-01", legacy: "0000-12-30" },
  { written: "1500-03-01", legacy: "1500-03-11" },
  { written: "1582-10-04", legacy: "1582-10-14" },
  { written: "1582-10-15", legacy: "1582-10-15" },
  { written: "1900-01-01", legacy: "1900-01-01" },
];

export const CSV_NAMES: readonly string[] = ["tiny", "wide", "double", "flag", "text", "city", "cents", "day", "at", "wall", "odd"];

/** Spark leaves out spaces around texts, so that of the newline is gone, and cuts times off at milliseconds. */
export function csvRows(): Record<string, unknown>[] {
  const { tiny = [], wide = [], double = [], flag = [], city = [], day = [], at = [], wall = [] } = PLAIN;
  const text = ["Zürich 東京 😀", "", 'say "hi", twice'];
  const odd = ["a \\ b", "ends, with \\", '\\"', "padded"];
  return rowsOf({ tiny, wide, double, flag, text, city, cents: [1_234_567.89, -0.01], day, at, wall, odd });
}

export const JSON_SCHEMA: Readonly<Record<string, string>> = {
  double: "float64",
  digits: "decimal<38, 10>",
  day: "date",
  at: "timestamp[ms]",
  wall: "timestamp[ms]",
};

/** Parts that are null in all rows are not in the file, bytes are base64, and maps are objects. */
export function jsonRows(): Record<string, unknown>[] {
  const { tiny = [], wide = [], double = [], flag = [], text = [], digits = [], day = [], at = [], wall = [] } = PLAIN;
  const { tags = [], sure = [], grid = [], pairs = [], legs = [] } = NESTED;
  const place = [
    { city: "Rome", at: { x: 0.5 } },
    { city: null, at: null },
  ];
  const codes = [
    { x: 1, y: null },
    { x: null, y: null },
  ];
  const deep = [{ k: [{ 1: "9999-12-31T23:59:59.000Z" }] }];
  return rowsOf({
    tiny,
    wide,
    double,
    flag,
    text,
    digits,
    day,
    at,
    wall,
    bytes: ["AP8K", ""],
    tags,
    sure,
    grid,
    pairs,
    place,
    legs,
    codes,
    deep,
  });
}
