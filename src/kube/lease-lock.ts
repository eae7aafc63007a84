import type { Clock } from '../runtime/clock.ts';
import type { Refusal } from './answer.ts';
import type { Client } from './client.ts';
import { type Lease, type LeaseSpec, claimed, released, sameClaim } from './lease-record.ts';
import { compareResourceVersions } from './resource-version.ts';

export interface LeaseLockOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly clock: Clock;
  readonly leaseDurationMs: number;
}

/**
 * `taken`: the record says that we hold it, as written at `sentMs` (monotonic, before the request left).
 * `lost`: it is somebody else's. `refused`: we do not know.
 */
export type Attempt =
  | { readonly kind: 'taken'; readonly sentMs: number }
  | { readonly kind: 'lost' }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

interface Observation {
  /** Undefined: there is no such Lease. */
  readonly lease: Lease | undefined;
  /** Monotonic milliseconds at which this process first saw this claim. */
  readonly sinceMs: number;
}

/** The one Lease object: what is known of it, and the writes that take, renew and release it. */
export class LeaseLock {
  readonly #options: LeaseLockOptions;
  readonly #collection: string;
  readonly #path: string;
  // Every renewTime that we sent and may find again: a write whose answer was lost is still ours.
  readonly #sent = new Set<string>();
  #observed: Observation | undefined;
  #everRead = false;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
    this.#collection = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
    this.#path = `${this.#collection}/${options.name}`;
  }

  get collection(): string {
    return this.#collection;
  }

  /** Who holds it as far as we know; undefined for nobody. */
  get holder(): string | undefined {
    const holder = this.#observed?.lease?.spec?.holderIdentity;
    return holder === '' ? undefined : holder;
  }

  /**
   * Milliseconds until we may try to take it; 0 or less means now, undefined that it has not been read. The time of
   * another holder is measured from when we saw the claim, by our own monotonic clock: its timestamps may be skewed.
   */
  waitMs(): number | undefined {
    if (this.#observed === undefined) {
      return undefined;
    }
    const { lease, sinceMs } = this.#observed;
    if (this.holder === undefined || this.#isOurs(lease?.spec)) {
      return 0;
    }
    const seconds = lease?.spec?.leaseDurationSeconds;
    const durationMs = seconds === undefined ? this.#options.leaseDurationMs : seconds * 1_000;
    return sinceMs + durationMs - this.#options.clock.monotonic();
  }

  /** A state that the watch delivered; older ones than we know are passed over. */
  observe(lease: Lease | undefined): void {
    const known = this.#observed?.lease;
    const older =
      lease !== undefined &&
      known !== undefined &&
      compareResourceVersions(lease.metadata.resourceVersion, known.metadata.resourceVersion) < 0;
    if (!older) {
      this.#learn(lease);
    }
  }

  /** Reads the Lease; undefined when that worked. */
  async read(signal: AbortSignal, timeoutMs: number): Promise<Refusal | undefined> {
    const before = this.#observed;
    const answer = await this.#options.client.get<Lease>(this.#path, { signal, timeoutMs });
    if (answer.kind !== 'ok' && answer.kind !== 'notFound') {
      return answer;
    }
    const lease = answer.kind === 'ok' ? answer.object : undefined;
    if (this.#observed === before) {
      // Nothing came in between, so this is the newest, even where its version went back (a restored backup).
      this.#learn(lease);
    } else if (lease !== undefined) {
      this.observe(lease);
    }
    return undefined;
  }

  /** Takes or renews it, on the condition that it is as we know it. */
  async claim(signal: AbortSignal, timeoutMs: number): Promise<Attempt> {
    const { clock, identity, leaseDurationMs: durationMs } = this.#options;
    const sentMs = clock.monotonic();
    const spec = claimed(this.#observed?.lease?.spec, { identity, durationMs, nowMs: clock.now() });
    this.#remember(spec);
    const refusal = await this.#write(spec, signal, timeoutMs);
    return refusal === undefined ? { kind: 'taken', sentMs } : this.#failed(refusal, signal, timeoutMs);
  }

  /** Gives it up for others to take at once. Undefined when that worked. */
  async release(signal: AbortSignal, timeoutMs: number): Promise<Refusal | undefined> {
    const send = (): Promise<Refusal | undefined> =>
      this.#write(released(this.#observed?.lease?.spec, this.#options.clock.now()), signal, timeoutMs);
    const refusal = await send();
    if (refusal?.kind !== 'conflict' || (await this.read(signal, timeoutMs)) !== undefined) {
      return refusal;
    }
    // A renewal whose answer nobody waited for was in between.
    return this.#isOurs(this.#observed?.lease?.spec) ? send() : refusal;
  }

  async #failed(refusal: Refusal, signal: AbortSignal, timeoutMs: number): Promise<Attempt> {
    if (refusal.kind !== 'conflict' && refusal.kind !== 'notFound') {
      return { kind: 'refused', refusal };
    }
    const unread = await this.read(signal, timeoutMs);
    if (unread !== undefined) {
      return { kind: 'refused', refusal: unread };
    }
    const { lease } = this.#observed ?? {};
    return lease === undefined || this.#isOurs(lease.spec) ? { kind: 'refused', refusal } : { kind: 'lost' };
  }

  async #write(spec: LeaseSpec, signal: AbortSignal, timeoutMs: number): Promise<Refusal | undefined> {
    const { client, name, namespace } = this.#options;
    const head = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
    const known = this.#observed?.lease;
    const answer =
      known === undefined
        ? await client.create<Lease>(
            this.#collection,
            { ...head, metadata: { name, namespace }, spec },
            { signal, timeoutMs },
          )
        : await client.update<Lease>(
            this.#path,
            { ...head, metadata: known.metadata, spec },
            { signal, timeoutMs },
          );
    if (answer.kind !== 'ok') {
      return answer;
    }
    this.observe(answer.object);
    return undefined;
  }

  #learn(lease: Lease | undefined): void {
    const old = this.#observed;
    // A restarted process with its old identity need not wait for itself; later, a claim in our name that we did not
    // send is another process that was given the same identity.
    if (!this.#everRead && lease?.spec?.holderIdentity === this.#options.identity) {
      this.#remember(lease.spec);
    }
    this.#everRead = true;
    const same = old !== undefined && sameClaim(old.lease?.spec, lease?.spec);
    this.#observed = { lease, sinceMs: same ? old.sinceMs : this.#options.clock.monotonic() };
  }

  #isOurs(spec: LeaseSpec | undefined): boolean {
    return spec?.holderIdentity === this.#options.identity && this.#sent.has(spec.renewTime ?? '');
  }

  #remember(spec: LeaseSpec): void {
    this.#sent.add(spec.renewTime ?? '');
    const [oldest] = this.#sent;
    if (this.#sent.size > 20 && oldest !== undefined) {
      this.#sent.delete(oldest);
    }
  }
}
