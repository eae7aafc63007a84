/** What has to be true of a maintenance that stays at a reason of Ready (docs/conditions.md). */
import { evacuates } from './asks.ts';
import { type ClusterState, nodeOf, said, type StateMaintenance } from './state.ts';

/** A maintenance and its node, as far as reasons speak of them. */
interface Facts {
  readonly policy: string;
  readonly suspend: boolean;
  readonly isEvacuated: boolean;
  readonly drain: NonNullable<StateMaintenance['spec']['drain']>;
  /** Status and reason: `True/Drained`. */
  readonly drained: string;
}

interface Expected {
  readonly ready: 'True' | 'False';
  /** What the reason means for the node; `either`: it is what condition Cordoned says. */
  readonly cordoned: boolean | 'either';
  readonly fits: (facts: Facts) => boolean;
}

const drains = ({ isEvacuated, suspend }: Facts): boolean => isEvacuated && !suspend;
const canFail = ({ drain: { timeoutSeconds, onTimeout = 'Fail', unsatisfiableBudgets } }: Facts): boolean =>
  (timeoutSeconds !== undefined && onTimeout === 'Fail') || unsatisfiableBudgets === 'Fail';
const begins = ({ policy, suspend }: Facts): boolean => policy !== 'Ignore' && !suspend;

const REASONS: Readonly<Record<string, Expected>> = {
  Announced: {
    ready: 'True',
    cordoned: false,
    fits: ({ policy, isEvacuated }) => policy === 'Ignore' && !isEvacuated,
  },
  Cordoned: {
    ready: 'True',
    cordoned: true,
    fits: ({ policy, isEvacuated }) => policy === 'NoSchedule' && !isEvacuated,
  },
  Drained: {
    ready: 'True',
    cordoned: true,
    fits: ({ drained, isEvacuated }) =>
      isEvacuated && (drained === 'True/Drained' || drained === 'False/PodsKept'),
  },
  Draining: { ready: 'False', cordoned: true, fits: drains },
  DrainBlocked: { ready: 'False', cordoned: true, fits: drains },
  // An edit of what it failed with begins again: a spec that cannot fail has not.
  DrainFailed: {
    ready: 'False',
    cordoned: true,
    fits: (facts) => drains(facts) && canFail(facts),
  },
  InvalidSpec: {
    ready: 'False',
    cordoned: true,
    fits: ({ drain, isEvacuated }) => isEvacuated && drain.podSelector !== undefined,
  },
  NotPermitted: {
    ready: 'False',
    cordoned: true,
    fits: ({ drain, isEvacuated }) =>
      isEvacuated &&
      (drain.onTimeout === 'Delete' ||
        drain.unsatisfiableBudgets === 'Delete' ||
        drain.deleteBlockedAfterSeconds !== undefined ||
        drain.blockedDeployments === 'Restart'),
  },
  Suspended: {
    ready: 'False',
    cordoned: 'either',
    fits: ({ policy, suspend, isEvacuated }) => suspend && (policy !== 'Ignore' || isEvacuated),
  },
  WaitingForTurn: { ready: 'False', cordoned: false, fits: begins },
};
const NOT_THERE = ['NodeNotFound', 'NodeGone'];

/** One sentence where the reason of Ready is not what the spec and the node make of it. */
export function unfounded(maintenance: StateMaintenance, state: ClusterState): string[] {
  const { name } = maintenance.metadata;
  const { status: ready, reason = '' } = said(maintenance, 'Ready') ?? {};
  const node = nodeOf(maintenance, state);
  if (NOT_THERE.includes(reason)) return node ? [`${name} says ${reason}, and there is the node`] : [];
  if (!node) return [`${name} says ${reason}, and there is no node`];
  const expected = REASONS[reason];
  if (!expected) return [`${name} says ${reason}, which nobody knows`];
  const facts = factsOf(maintenance, state);
  if (expected.ready !== ready || !expected.fits(facts))
    return [`${name} says ${ready}/${reason}, and is about ${JSON.stringify(facts)}`];
  const isSaid = said(maintenance, 'Cordoned')?.status === 'True';
  const isWanted = expected.cordoned === 'either' ? isSaid : expected.cordoned;
  if (isSaid !== isWanted) return [`${name} says ${reason}, and Cordoned is ${isSaid ? '' : 'not '}True`];
  return isSaid && node.spec?.unschedulable !== true
    ? [`${name} says Cordoned, and the node is schedulable`]
    : [];
}

function factsOf(maintenance: StateMaintenance, state: ClusterState): Facts {
  const { nodeDrainPolicy: policy = 'Evacuate', suspend = false, drain = {} } = maintenance.spec;
  const { status, reason } = said(maintenance, 'Drained') ?? {};
  const isEvacuated = evacuates(maintenance, state);
  return { policy, suspend, isEvacuated, drain, drained: `${status}/${reason}` };
}
