/**
 * Finds options of a `serve.start` that have no effect, because Serve runs already with other values.
 *
 * Pure. Omitted options are not compared, because the caller accepts any value. `run.ts` calls it and prints the result.
 */
import type { ServeOptions } from "./controller/controller.ts";

/** Options that the caller gave to `serve.start`; undefined for omitted ones. */
interface GivenOptions {
  readonly httpOptions?: object | undefined;
  readonly grpcOptions?: object | undefined;
  readonly loggingConfig?: object | undefined;
  readonly tracing?: object | undefined;
  readonly development?: boolean | undefined;
}

/** @param wanted the same with defaults @param held those that Serve runs with @returns names such as `port of httpOptions` */
export function ineffectiveOptions(given: GivenOptions, { wanted, held }: { wanted: ServeOptions; held: ServeOptions }): string[] {
  const { httpOptions, grpcOptions, loggingConfig, tracing, development } = given;
  const names = differing(httpOptions, wanted.http, held.http).map((name) => `${name} of httpOptions`);
  if (grpcOptions !== undefined && wanted.grpc !== undefined && held.grpc === undefined) names.push("grpcOptions");
  else if (grpcOptions !== undefined) names.push(...differing(grpcOptions, wanted.grpc, held.grpc).map((name) => `${name} of grpcOptions`));
  if (loggingConfig !== undefined && !isSame(wanted.logging, held.logging)) names.push("loggingConfig");
  if (tracing !== undefined && !isSame(wanted.tracing, held.tracing)) names.push("tracing");
  if (development !== undefined && wanted.showsErrors !== held.showsErrors) names.push("development");
  return names;
}

function differing(given: object | undefined, wanted: object | undefined, held: object | undefined): string[] {
  const of = (options: object | undefined, name: string): unknown => (options as Readonly<Record<string, unknown>> | undefined)?.[name];
  return Object.keys(given ?? {}).filter((name) => of(given, name) !== undefined && !isSame(of(wanted, name), of(held, name)));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
