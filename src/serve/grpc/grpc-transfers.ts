/**
 * The messages of gRPC calls on their way from and to clients, for `slow-clients.ts`: an interceptor of `@grpc/grpc-js` sees when a message has come and when it has gone.
 *
 * The package writes an answer without waiting for its client, and keeps it until the client takes it. A client that sends half a message, or takes none, loses its
 * connection: the package lets no call be broken off alone. Owns one transfer for each open call.
 */
import type * as grpc from "@grpc/grpc-js";
import type { ClientLimits } from "../proxy/options/http-options.ts";
import type { SlowClients, Transfer, TransferLimits } from "../proxy/fronts/slow-clients.ts";

interface TransferPorts {
  readonly clients: SlowClients;
  readonly limits: ClientLimits;
  /** Name of the application that a call is for; empty where it names none. */
  appOf(metadata: grpc.Metadata): string;
  /** Ends the connection of a client. */
  disconnect(peer: string): void;
}

/** Bytes of the message that was serialized last. The package serializes a message while it is handed on. */
let serializedBytes = 0;

/** Makes the methods of a service tell how large their answers are. */
export function measured(service: grpc.ServiceDefinition): grpc.ServiceDefinition {
  const entries = Object.entries(service).map(([name, method]) => {
    const responseSerialize = (value: unknown): Buffer => {
      const bytes = method.responseSerialize(value);
      serializedBytes = bytes.byteLength;
      return bytes;
    };
    return [name, { ...method, responseSerialize }] as const;
  });
  return Object.fromEntries(entries);
}

/** An interceptor that registers the messages of each call. */
export function transferInterceptor(package_: typeof grpc, ports: TransferPorts): grpc.ServerInterceptor {
  return (method, call) => new package_.ServerInterceptingCall(new WatchedCall(call, method.requestStream, ports));
}

type NextCall = ConstructorParameters<typeof grpc.ServerInterceptingCall>[0];
type NextListener = Parameters<NextCall["start"]>[0];

class WatchedCall implements NextCall, Transfer {
  readonly connection: string;
  readonly holdsPlace = false;
  readonly isQueued = false;
  app = "";
  readonly #next: NextCall;
  readonly #ports: TransferPorts;
  /** The client still has to send its only message. */
  #isSending: boolean;
  #unsentBytes = 0;
  #movedBytes = 0;

  constructor(next: NextCall, isStream: boolean, ports: TransferPorts) {
    this.#next = next;
    this.#ports = ports;
    this.#isSending = !isStream;
    this.connection = next.getPeer();
  }

  get limits(): TransferLimits {
    return this.#isSending ? this.#ports.limits.body : this.#ports.limits.answer;
  }

  get owedBytes(): number {
    return this.#isSending ? Number.POSITIVE_INFINITY : this.#unsentBytes;
  }

  get heldBytes(): number {
    return this.#unsentBytes;
  }

  get movedBytes(): number {
    return this.#movedBytes;
  }

  cutOff(): void {
    this.#ports.disconnect(this.connection);
  }

  start(listener: NextListener): void {
    this.#ports.clients.begin(this);
    this.#next.start({
      onReceiveMetadata: (metadata) => {
        this.app = this.#ports.appOf(metadata);
        listener.onReceiveMetadata(metadata);
      },
      onReceiveMessage: (message) => {
        this.#isSending = false;
        listener.onReceiveMessage(message);
      },
      onReceiveHalfClose: () => {
        this.#isSending = false;
        listener.onReceiveHalfClose();
      },
      onCancel: () => {
        this.#ports.clients.end(this);
        listener.onCancel();
      },
    });
  }

  sendMessage(message: unknown, sent: () => void): void {
    serializedBytes = 0;
    let bytes = 0;
    this.#next.sendMessage(message, () => {
      this.#unsentBytes -= bytes;
      this.#movedBytes += bytes;
      sent();
    });
    bytes = serializedBytes;
    this.#unsentBytes += bytes;
  }

  sendMetadata(metadata: grpc.Metadata): void {
    this.#next.sendMetadata(metadata);
  }

  sendStatus(status: Parameters<NextCall["sendStatus"]>[0]): void {
    this.#isSending = false;
    this.#next.sendStatus(status);
  }

  startRead(): void {
    this.#next.startRead();
  }

  getPeer(): string {
    return this.#next.getPeer();
  }

  getDeadline(): grpc.Deadline {
    return this.#next.getDeadline();
  }

  getHost(): string {
    return this.#next.getHost();
  }

  getAuthContext(): ReturnType<NextCall["getAuthContext"]> {
    return this.#next.getAuthContext();
  }

  getConnectionInfo(): ReturnType<NextCall["getConnectionInfo"]> {
    return this.#next.getConnectionInfo();
  }

  getMetricsRecorder(): ReturnType<NextCall["getMetricsRecorder"]> {
    return this.#next.getMetricsRecorder();
  }
}
