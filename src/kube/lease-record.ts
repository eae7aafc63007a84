import { microTime } from './micro-time.ts';
import type { KubeObject } from './types.ts';

/** coordination.k8s.io/v1 Lease, as far as an election reads it. */
export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  /** Missing or empty: nobody holds it. */
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export interface Claim {
  readonly identity: string;
  readonly durationMs: number;
  /** Wall-clock milliseconds, written for people to read: nobody decides by it. */
  readonly nowMs: number;
}

/** What to write in order to take or to renew the Lease that `old` describes. */
export function claimed(old: LeaseSpec | undefined, { identity, durationMs, nowMs }: Claim): LeaseSpec {
  const now = microTime(nowMs);
  const renewal = old?.holderIdentity === identity;
  return {
    ...old,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1_000),
    acquireTime: renewal ? (old.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: (old?.leaseTransitions ?? 0) + (old === undefined || renewal ? 0 : 1),
  };
}

/** What to write in order to give up the Lease: without a holder, so that another need not wait. */
export function released(old: LeaseSpec | undefined, nowMs: number): LeaseSpec {
  const now = microTime(nowMs);
  return { ...old, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
}

/** Whether two records are the same claim: while they are, the holder has not shown any life. */
export function sameClaim(a: LeaseSpec | undefined, b: LeaseSpec | undefined): boolean {
  return (
    a?.holderIdentity === b?.holderIdentity &&
    a?.renewTime === b?.renewTime &&
    a?.leaseTransitions === b?.leaseTransitions &&
    a?.leaseDurationSeconds === b?.leaseDurationSeconds
  );
}
