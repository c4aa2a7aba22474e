/**
 * Gets a node's next certificate in time: after two thirds of the last one's, and every hour from then on until there is one.
 *
 * The new key is made here; `renew` asks the head over the node's link. Connections that stand go on with the certificate that they began with.
 */
import { asError } from "../../../base/texts/describe.ts";
import { newNodeKey, renewalTimeMs } from "../../../os/network/certificates.ts";
import { setTlsIdentity, type TlsIdentity, tlsIdentity } from "../../../os/network/tls-identity.ts";

/** Timers hold 24 days at most, a machine that slept has to look at its clock again, and a failure wants another try. */
const LOOK_EVERY_MS = 3_600_000;

export class CertificateRenewal {
  readonly #renew: (publicKey: string) => Promise<string>;
  readonly #onFailure: (error: Error) => void;
  /** Keeps the identity for the next start of the node, before it is used. */
  readonly #store: (identity: TlsIdentity) => Promise<void> | void;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: {
    renew: (publicKey: string) => Promise<string>;
    onFailure: (error: Error) => void;
    store?: (identity: TlsIdentity) => Promise<void> | void;
  }) {
    this.#renew = options.renew;
    this.#onFailure = options.onFailure;
    this.#store = options.store ?? (() => {});
  }

  start(): void {
    this.#timer = setTimeout(() => void this.look(Date.now()).finally(() => this.#timer !== undefined && this.start()), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Renews if it is time. */
  async look(nowMs: number): Promise<void> {
    const identity = tlsIdentity();
    if (identity === undefined || nowMs < renewalTimeMs(identity.cert)) return;
    const { key, publicKey } = newNodeKey();
    try {
      const later = { ...identity, cert: await this.#renew(publicKey), key };
      await this.#store(later);
      setTlsIdentity(later);
    } catch (error) {
      this.#onFailure(asError(error));
    }
  }
}
