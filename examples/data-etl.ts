/**
 * From CSV to partitioned Parquet: rows are cleaned by expressions, joined with a table of cities, and written to a folder a country, of which a later query reads one.
 *
 *   node examples/data-etl.ts [ROWS]
 *
 * The CSV is made first, 200,000 rows unless you say otherwise, with fares that are missing and cities in all spellings.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { shutdown } from "shoal";
import * as data from "shoal/data";
import { col } from "shoal/data";

const CITIES = [
  { city: "rome", country: "it" },
  { city: "milan", country: "it" },
  { city: "oslo", country: "no" },
  { city: "bern", country: "ch" },
];

interface Ride {
  ride: number;
  city: string;
  km: number;
  fare: number | null;
}

async function makeCsv(folder: string, rows: number): Promise<void> {
  const spellings = CITIES.flatMap(({ city }) => [city, city.toUpperCase(), ` ${city} `]);
  const rides = data.range(rows).map(({ id }) => ({
    ride: id,
    city: spellings[id % spellings.length] ?? "",
    km: id % 1000 === 0 ? 0 : (id % 97) / 2 + 0.5,
    fare: id % 50 === 0 ? null : 4 + (id % 61),
  }));
  await rides.writeCsv(folder);
}

async function main(): Promise<void> {
  const rows = Number(process.argv[2] ?? 200_000);
  if (!Number.isSafeInteger(rows) || rows < 1) throw new RangeError(`ROWS must be a whole number from 1: received ${process.argv[2]}`);
  const scratch = mkdtempSync(join(tmpdir(), "shoal-etl-"));
  try {
    const [csv, parquet] = [join(scratch, "csv"), join(scratch, "parquet")];
    await makeCsv(csv, rows);

    const cleaned = data
      .readCsv<Ride>(csv)
      .filter(col("fare").isNotNull().and(col("km").gt(0)))
      .withColumn("city", col("city").str.trim().str.lower())
      .withColumn("perKm", col("fare").div(col("km")))
      .join(data.fromItems(CITIES), { on: "city" });
    const written = await cleaned.writeParquet(parquet, { partitionBy: ["country"], compression: "zstd" });
    const countries = new Set(written.files.map((file) => basename(dirname(file))));
    console.log(`${rows} rows read, ${written.rowCount} written to ${[...countries].sort().join(", ")}`);

    // The folder tells the country, so the others are not opened.
    const italian = data.readParquet<{ city: string; country: string; perKm: number }>(parquet).filter(col("country").eq("it"));
    const perCity = italian.groupBy("city").aggregate({ rides: data.count(), perKm: data.mean("perKm") });
    for (const { city, rides, perKm } of await perCity.sort("city").takeAll())
      console.log(`${city.padEnd(6)} ${rides} rides, ${perKm?.toFixed(2)} a kilometre`);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

await main().finally(shutdown);
