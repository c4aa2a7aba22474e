/**
 * Answers of gRPC's server reflection (`v1` and `v1alpha`), by which tools such as grpcurl learn the services and messages of a server.
 *
 * Owns the descriptors of all files, by name and by their definitions. A file is answered with all its imports, so that a client asks once.
 * Services whose files have the same names and other texts are told apart by the service in front of the name. Pure; called by
 * `grpc-front.ts`.
 */
import { GRPC_STATUS } from "./grpc-calls.ts";
import { type FileDescriptor, fileDescriptorsOf } from "./file-descriptors.ts";
import type { LoadedService } from "./proto-files.ts";

/** A `ServerReflectionRequest`, in the form of messages here. */
export interface ReflectionRequest {
  readonly host?: string;
  readonly messageRequest?: string;
  readonly fileByFilename?: string;
  readonly fileContainingSymbol?: string;
  readonly fileContainingExtension?: { readonly containingType?: string };
  readonly allExtensionNumbersOfType?: string;
}

export class Reflection {
  readonly #services: readonly string[];
  readonly #byName = new Map<string, FileDescriptor>();
  readonly #bySymbol = new Map<string, FileDescriptor>();
  /** Texts of the files, by name. */
  readonly #texts = new Map<string, string>();

  /** @throws the parser's error for a file */
  constructor(services: readonly LoadedService[]) {
    this.#services = services.map(({ service }) => service);
    for (const service of services) this.#add(service);
  }

  /** @returns a `ServerReflectionResponse` */
  answer(request: ReflectionRequest): object {
    const echo = { validHost: request.host ?? "", originalRequest: request };
    switch (request.messageRequest) {
      case "listServices":
        return { ...echo, listServicesResponse: { service: this.#services.map((name) => ({ name })) } };
      case "fileByFilename":
        return { ...echo, ...this.#file(this.#byName.get(request.fileByFilename ?? ""), request.fileByFilename) };
      case "fileContainingSymbol":
        return { ...echo, ...this.#file(this.#bySymbol.get(request.fileContainingSymbol ?? ""), request.fileContainingSymbol) };
      case "allExtensionNumbersOfType": {
        const baseTypeName = request.allExtensionNumbersOfType ?? "";
        // Extensions are none of a service's own: a type that is known has none.
        if (!this.#bySymbol.has(baseTypeName)) return { ...echo, ...notFound(baseTypeName) };
        return { ...echo, allExtensionNumbersResponse: { baseTypeName, extensionNumber: [] } };
      }
      case "fileContainingExtension":
        return { ...echo, ...notFound(`an extension of ${request.fileContainingExtension?.containingType}`) };
      default:
        return { ...echo, errorResponse: { errorCode: GRPC_STATUS.INVALID_ARGUMENT, errorMessage: "the request asks for nothing" } };
    }
  }

  #add({ service, main, files }: LoadedService): void {
    const isTaken = Object.entries(files).some(([name, text]) => (this.#texts.get(name) ?? text) !== text);
    const own = isTaken ? renamed({ service, main, files }) : { service, main, files };
    for (const [name, text] of Object.entries(own.files)) this.#texts.set(name, text);
    for (const file of fileDescriptorsOf(own)) {
      if (this.#byName.has(file.name)) continue;
      this.#byName.set(file.name, file);
      for (const symbol of file.symbols) if (!this.#bySymbol.has(symbol)) this.#bySymbol.set(symbol, file);
    }
  }

  #file(file: FileDescriptor | undefined, asked: string | undefined): object {
    if (file === undefined) return notFound(asked ?? "");
    const found = new Set<FileDescriptor>();
    const collect = (one: FileDescriptor | undefined): void => {
      if (one === undefined || found.has(one)) return;
      found.add(one);
      for (const name of one.imports) collect(this.#byName.get(name));
    };
    collect(file);
    return { fileDescriptorResponse: { fileDescriptorProto: [...found].map(({ bytes }) => bytes) } };
  }
}

function notFound(what: string): object {
  return { errorResponse: { errorCode: GRPC_STATUS.NOT_FOUND, errorMessage: `there is no ${what.slice(0, 200)}` } };
}

/** The same service with other names for its files. */
function renamed({ service, main, files }: LoadedService): LoadedService {
  const nameOf = (name: string): string => `${service}/${name}`;
  const rename = (text: string): string =>
    text.replaceAll(/^(\s*import\s+(?:public\s+|weak\s+)?")([^"]+)"/gm, (whole, before: string, name: string) =>
      Object.hasOwn(files, name) ? `${before}${nameOf(name)}"` : whole,
    );
  return {
    service,
    main: nameOf(main),
    files: Object.fromEntries(Object.entries(files).map(([name, text]) => [nameOf(name), rename(text)])),
  };
}
