import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Client } from './client.ts';
import type { TermCallbacks } from './term.ts';

export interface LeaderElectorOptions extends TermCallbacks {
  /** A client of its own, whose connections no burst of evictions can fill. */
  readonly client: Client;
  readonly namespace: string;
  readonly name: string;
  /** Different for every process. */
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long others wait for a silent holder. Default 15,000. */
  readonly leaseDurationMs?: number;
  /** How long the holder works without having renewed. Less than the duration. Default 10,000. */
  readonly renewDeadlineMs?: number;
  /** Between two renewals or tries; up to 1.2 times as long by chance. Default 2,000. */
  readonly retryPeriodMs?: number;
  /** Numbers from 0 up to 1. Default Math.random. */
  readonly random?: () => number;
}

/** A retry period is up to so much longer, by chance. */
export const jitter = 0.2;

export interface LeaseTimes {
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly requestTimeoutMs: number;
}

/** Throws a RangeError for times that cannot work together. */
export function leaseTimes({
  leaseDurationMs = 15_000,
  renewDeadlineMs = 10_000,
  retryPeriodMs = 2_000,
}: Pick<LeaderElectorOptions, 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'>): LeaseTimes {
  if (leaseDurationMs <= renewDeadlineMs) {
    throw new RangeError('the lease duration must be longer than the renew deadline');
  }
  if (renewDeadlineMs <= retryPeriodMs * (1 + jitter)) {
    throw new RangeError('the renew deadline must be longer than 1.2 times the retry period');
  }
  // A request that hangs must leave time for another try over a new connection.
  return { leaseDurationMs, renewDeadlineMs, retryPeriodMs, requestTimeoutMs: renewDeadlineMs / 2 };
}
