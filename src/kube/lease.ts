import { LeaseLock } from './lease-lock.ts';
import { type LeaderElectorOptions, jitter, leaseTimes } from './lease-options.ts';
import type { Lease } from './lease-record.ts';
import { pause } from './pause.ts';
import { Reflector } from './reflector.ts';
import { Renewal } from './renewal.ts';
import { Store } from './store.ts';
import { Term } from './term.ts';

export type { LeaderElectorOptions };

/** So long a process that has stepped down leaves the Lease to others. */
const awayMs = 30_000;
/** A lost Lease should have ended the work long before. */
const overdueMs = 30_000;

/**
 * Holds one Lease of all processes that compete for it, with the rules of client-go's leader election. The holder stops
 * `leaseDurationMs - renewDeadlineMs` before anybody else can start, measured by monotonic clocks only.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #renewal: Renewal;
  readonly #retryPeriodMs: number;
  readonly #requestTimeoutMs: number;
  readonly #random: () => number;
  readonly #lock: LeaseLock;
  readonly #reflector: Reflector<Lease>;
  readonly #wakeUps = new Set<() => void>();
  #run: { readonly controller: AbortController; readonly ended: Promise<void> } | undefined;
  #term: Term | undefined;
  #stopping = false;
  /** While leading: ends the term if the Lease, as just observed, is somebody else's. */
  #onForeignHolder: (() => void) | undefined;
  /** While leading: ends the term in good order. */
  #leave: (() => void) | undefined;
  /** Whoever waits for the end of a step down. */
  #onTaken: ((taken: boolean) => void) | undefined;

  /** Throws a RangeError for times that cannot work together. */
  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    const times = leaseTimes(options);
    this.#retryPeriodMs = times.retryPeriodMs;
    this.#requestTimeoutMs = times.requestTimeoutMs;
    this.#random = options.random ?? Math.random;
    const { client, clock, logger, name } = options;
    this.#renewal = new Renewal(clock, times.renewDeadlineMs);
    this.#lock = new LeaseLock({ ...options, leaseDurationMs: times.leaseDurationMs });
    const store = new Store<Lease>({ logger });
    store.onChange((_old, now) => {
      this.#lock.observe(now);
      this.#onForeignHolder?.();
      for (const wakeUp of this.#wakeUps) wakeUp();
    });
    // Polling would learn of a release up to a retry period late.
    this.#reflector = new Reflector<Lease>({
      client,
      path: this.#lock.collection,
      query: { fieldSelector: `metadata.name=${name}` },
      store,
      clock,
      logger,
      random: this.#random,
    });
  }

  /** Who holds the Lease as far as this process knows. */
  get holder(): string | undefined {
    return this.#lock.holder;
  }

  /**
   * Whether this process may write now: it leads, and its last renewal is younger than the renew deadline. Asked before
   * each write, it also holds after the process was stopped for a while and before its timers run again.
   */
  isLeader(): boolean {
    return this.#term !== undefined && this.#renewal.isFresh;
  }

  /** For a health check: what is wrong, or undefined. The work of a lost term that does not end is. */
  readonly check = (): string | undefined => {
    const lostMs = this.#term?.lostMs;
    return lostMs !== undefined && this.#options.clock.monotonic() - lostMs > overdueMs
      ? 'the Lease is lost, but the work under it has not ended'
      : undefined;
  };

  /** Begins to compete. Throws when it does already. */
  start(): void {
    if (this.#run !== undefined) {
      throw new Error('the election is running');
    }
    const controller = new AbortController();
    this.#stopping = false;
    this.#reflector.start();
    this.#run = { controller, ended: this.#loop(controller.signal) };
  }

  /** Ends the work (renewing until it has ended), then releases the Lease and ends the competition. */
  async stop(): Promise<void> {
    const run = this.#run;
    if (run === undefined) {
      return;
    }
    this.#stopping = true;
    const term = this.#term;
    if (term !== undefined) {
      await term.end();
    }
    run.controller.abort(new Error('the election is stopped'));
    await run.ended;
    await this.#reflector.stop();
    if (this.#renewal.isFresh) await this.#release();
    if (this.#run === run) this.#run = undefined;
  }

  /**
   * Ends the work (renewing until it has ended), then releases the Lease for another process to take. Competes again
   * when one has, or when none did for a while. Whether one did; false at once where this process does not lead.
   */
  async stepDown(): Promise<boolean> {
    const term = this.#term;
    if (term === undefined || this.#stopping) return false;
    await term.end();
    // Lost or stopped meanwhile: that has its own end.
    if (this.#term !== term || this.#leave === undefined) return false;
    const taken = new Promise<boolean>((resolve) => {
      this.#onTaken = resolve;
    });
    this.#leave();
    return taken;
  }

  async #loop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#stopping) {
      try {
        await this.#compete(signal);
        await this.#lead(signal);
      } catch (error) {
        if (!signal.aborted) {
          this.#options.logger.error('the election failed', { error: stackOf(error) });
          await this.#pause(signal, false);
        }
      }
    }
  }

  /** Resolves when the Lease is ours. */
  async #compete(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#lock.waitMs() === undefined || this.#reflector.state.phase !== 'watching') {
        await this.#look(signal);
      }
      const waitMs = this.#lock.waitMs();
      if (waitMs !== undefined && waitMs <= 0) {
        if (await this.#claim(signal)) {
          return;
        }
        await this.#pause(signal, this.#lock.waitMs() !== 0);
      } else if (waitMs !== undefined && this.#reflector.state.phase === 'watching') {
        await pause(this.#options.clock, waitMs, signal, this.#wakeUps);
      } else {
        await this.#pause(signal, true, waitMs);
      }
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const refusal = await this.#lock.read(signal, this.#requestTimeoutMs);
    if (refusal !== undefined) {
      this.#options.logger.warn('cannot read the Lease', { cause: refusal.kind, error: refusal.message });
    }
  }

  /** Whether the Lease is ours and the time to work under it has not passed already. */
  async #claim(signal: AbortSignal): Promise<boolean> {
    const attempt = await this.#lock.claim(signal, this.#requestTimeoutMs);
    if (attempt.kind === 'taken') {
      this.#renewal.taken(attempt.sentMs);
      return this.#renewal.isFresh;
    }
    if (attempt.kind === 'refused') {
      const { kind, message } = attempt.refusal;
      this.#options.logger.warn('cannot write the Lease', { cause: kind, error: message });
    }
    return false;
  }

  /** Leads and renews until the Lease is lost or `signal` is aborted; the work has ended when it resolves. */
  async #lead(signal: AbortSignal): Promise<void> {
    // A stop between taking the Lease and leading: it is released without any work done.
    signal.throwIfAborted();
    const { logger, identity } = this.#options;
    const term = new Term(this.#options, logger);
    const renewing = new AbortController();
    const onStop = (): void => {
      renewing.abort(signal.reason);
    };
    signal.addEventListener('abort', onStop, { once: true });
    this.#term = term;
    let leaves = false;
    this.#leave = () => {
      leaves = true;
      renewing.abort(new Error('this process steps down'));
    };
    this.#onForeignHolder = () => {
      if ((this.#lock.waitMs() ?? 0) > 0) {
        renewing.abort(new Error('another process holds the Lease'));
      }
    };
    // Also while a request hangs.
    const cancelWatch = this.#renewal.watch(() => {
      const reason = new Error('the Lease could not be renewed in time');
      term.abort(reason);
      renewing.abort(reason);
    });
    logger.info('took the Lease', { identity });
    term.start();
    try {
      await this.#renew(renewing.signal);
    } catch (error) {
      if (!renewing.signal.aborted) {
        throw error;
      }
    } finally {
      cancelWatch();
      this.#onForeignHolder = undefined;
      signal.removeEventListener('abort', onStop);
      this.#leave = undefined;
      if (!signal.aborted && !leaves) {
        logger.warn('lost the Lease', { identity, holder: this.#lock.holder ?? '' });
        // Nobody may believe in the old renewal while the work is told to end.
        this.#renewal.void();
        term.lostMs = this.#options.clock.monotonic();
      }
      await term.end();
      this.#term = undefined;
    }
    if (leaves) await this.#stayAway(signal);
  }

  async #stayAway(signal: AbortSignal): Promise<void> {
    const { clock, logger, identity } = this.#options;
    let taken = false;
    try {
      if (!signal.aborted && this.#renewal.isFresh) await this.#release();
      logger.info('gave up the Lease for another process', { identity });
      const until = clock.monotonic() + awayMs;
      const isTaken = (): boolean => this.#lock.holder !== undefined && this.#lock.holder !== identity;
      while (!signal.aborted && !isTaken() && clock.monotonic() < until) {
        await pause(clock, until - clock.monotonic(), signal, this.#wakeUps);
      }
      taken = isTaken();
    } finally {
      this.#onTaken?.(taken);
      this.#onTaken = undefined;
    }
  }

  /** Resolves when somebody else holds the Lease. */
  async #renew(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#pause(signal, false);
      signal.throwIfAborted();
      const attempt = await this.#lock.claim(signal, this.#requestTimeoutMs);
      if (attempt.kind === 'lost') return;
      if (attempt.kind === 'taken') {
        this.#renewal.taken(attempt.sentMs);
      } else {
        const { kind, message } = attempt.refusal;
        this.#options.logger.warn('cannot renew the Lease', { cause: kind, error: message });
      }
    }
  }

  async #release(): Promise<void> {
    // From here on nothing may be written: another process can start before our answer arrives.
    this.#renewal.void();
    const never = new AbortController().signal;
    const refusal = await this.#lock.release(never, this.#requestTimeoutMs);
    if (refusal !== undefined) {
      // It expires by itself.
      const { kind, message } = refusal;
      this.#options.logger.warn('cannot release the Lease', { cause: kind, error: message });
    }
  }

  /** Waits until the next try, or until `signal` is aborted, or (with `wakeable`) until the Lease changes. */
  #pause(signal: AbortSignal, wakeable: boolean, atMostMs = Number.POSITIVE_INFINITY): Promise<void> {
    const ms = this.#retryPeriodMs * (1 + jitter * this.#random());
    return pause(this.#options.clock, Math.min(ms, atMostMs), signal, wakeable ? this.#wakeUps : undefined);
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
