import type { NodeMaintenance } from '../api/types.generated.ts';
import { type ConditionType, type SaidCondition, type WantedCondition, findCondition } from './conditions.ts';
import { blockedWords, drainedMessage, drainedWords, left } from './drain-words.ts';
import { detachedWords, movesPart } from './volume-words.ts';
import { type StatusFacts, isLettingGo } from './status.ts';
import { names } from './words.ts';

// The words of the status: phase, conditions, reasons and messages. docs/conditions.md lists the reasons.

/** A node that is not found for so long is probably a wrong name. */
const nodeNotFoundStalledMs = 5 * 60_000;

/** Wall-clock milliseconds at which the node will not have been found for too long. */
export function nodeNotFoundStalledAt({ status }: NodeMaintenance, now: number): number {
  const cordoned = findCondition(status?.conditions, 'Cordoned');
  const since = cordoned?.reason === 'NodeNotFound' ? Date.parse(cordoned.lastTransitionTime) : now;
  return since + nodeNotFoundStalledMs;
}

export interface Description {
  readonly phase: string;
  readonly conditions: readonly WantedCondition[];
}

interface Words {
  readonly phase: string;
  readonly ready: SaidCondition;
  readonly cordoned: SaidCondition;
  readonly drained: SaidCondition;
  /** Says what Drained says, unless given. */
  readonly detached?: SaidCondition;
  readonly blocked?: SaidCondition;
  /** Reason and message come from Ready. */
  readonly reconciling?: boolean;
  /** The reason, where it differs from Ready's; the message comes from Ready. */
  readonly stalled?: string;
}

export function describe(facts: StatusFacts): Description {
  const words = choose(facts);
  const [, readyReason, readyMessage] = words.ready;
  return {
    phase: words.phase,
    conditions: [
      condition('Ready', words.ready),
      condition('Cordoned', words.cordoned),
      condition('Drained', words.drained),
      condition('VolumesDetached', words.detached ?? words.drained),
      condition('DrainBlocked', words.blocked ?? ['False', 'NotBlocked', 'no pod is held up']),
      ...(words.reconciling ? [condition('Reconciling', ['True', readyReason, readyMessage])] : []),
      ...(words.stalled === undefined ? [] : [condition('Stalled', ['True', words.stalled, readyMessage])]),
    ],
  };
}

function condition(type: ConditionType, [status, reason, message]: SaidCondition): WantedCondition {
  return { type, status, reason, message };
}

function choose(facts: StatusFacts): Words {
  const { stance, now } = facts;
  const { nodeName } = stance.spec;
  switch (stance.kind) {
    case 'restoring': {
      const message = `node ${nodeName} is being put back as it was${problem(facts)}`;
      return { ...unknownNode('Restoring', message), ...lettingGo(facts, message) };
    }
    case 'nodeNotFound': {
      const message = `there is no node ${nodeName}; check spec.nodeName, or let the node join`;
      const stalled =
        now >= nodeNotFoundStalledAt(stance.maintenance, now)
          ? { stalled: 'NodeNotFound' }
          : { reconciling: true };
      return {
        ...unknownNode('NodeNotFound', message),
        phase: 'Pending',
        ready: ['False', 'NodeNotFound', message],
        ...stalled,
      };
    }
    case 'nodeGone': {
      const message = `node ${nodeName} was deleted; nothing is left to put back. Delete this object, or let the node join again`;
      return {
        ...unknownNode('NodeGone', message),
        phase: 'NodeGone',
        ready: ['False', 'NodeGone', message],
        stalled: 'NodeGone',
      };
    }
    case 'suspended':
      return pending(
        'Suspended',
        `suspended before it began: nothing is done to node ${nodeName} for it; set spec.suspend to false to begin`,
      );
    case 'waitingForTurn':
      return {
        ...pending(
          'WaitingForTurn',
          `node ${nodeName} waits for its turn: as many nodes are out of service as --max-unavailable-nodes allows${problem(facts)}`,
        ),
        reconciling: true,
      };
    case 'announced': {
      const announced = `the maintenance of node ${nodeName} is announced; nodeDrainPolicy Ignore changes nothing on it`;
      const words: Words = {
        phase: 'UnderMaintenance',
        ready: ['True', 'Announced', announced],
        cordoned: ['False', 'PolicyIgnore', 'nodeDrainPolicy Ignore does not cordon'],
        drained: ['False', 'PolicyDoesNotDrain', 'nodeDrainPolicy Ignore does not drain'],
      };
      const message = `node ${nodeName} is being put back as it was, as nodeDrainPolicy is Ignore now${problem(facts)}`;
      return isLettingGo(facts) ? { ...words, ...lettingGo(facts, message) } : words;
    }
    case 'holding':
      return stance.evacuates ? evacuating(facts) : cordonOnly(facts);
  }
}

/** Cordoned says what the node is, not what is wanted: as long as our marks are on it, the record is still needed. */
function lettingGo(
  facts: StatusFacts,
  message: string,
): Pick<Words, 'phase' | 'ready' | 'cordoned' | 'reconciling'> {
  const { stance } = facts;
  const before = findCondition(stance.maintenance.status?.conditions, 'Cordoned');
  const cordoned: SaidCondition =
    before && isLettingGo(facts)
      ? [before.status, before.reason, before.message]
      : ['False', 'Restored', `nothing of this maintenance is on node ${stance.spec.nodeName} any more`];
  return { phase: 'Restoring', ready: ['False', 'Restoring', message], cordoned, reconciling: true };
}

function unknownNode(reason: string, message: string): Pick<Words, 'cordoned' | 'drained' | 'blocked'> {
  return {
    cordoned: ['Unknown', reason, message],
    drained: ['Unknown', reason, message],
    blocked: ['Unknown', reason, message],
  };
}

function pending(reason: string, message: string): Words {
  return {
    phase: 'Pending',
    ready: ['False', reason, message],
    cordoned: ['False', reason, message],
    drained: ['False', reason, message],
  };
}

function cordonedWords(facts: StatusFacts): SaidCondition {
  const { stance, nodeSettled, heldAlready, uncordonedByHand, foreignTaints } = facts;
  const { nodeName } = stance.spec;
  if (uncordonedByHand)
    return [
      'False',
      'UncordonedByHand',
      `somebody made node ${nodeName} schedulable; it is being cordoned again`,
    ];
  if (!nodeSettled && heldAlready)
    return ['False', 'Updating', `node ${nodeName} is being brought up to date${problem(facts)}`];
  if (!nodeSettled)
    return ['False', 'Cordoning', `node ${nodeName} is being cordoned and marked${problem(facts)}`];
  const foreign =
    foreignTaints.length > 0
      ? `; left alone because the node has them with another value, or has as many as it may: ${names(foreignTaints)}`
      : '';
  return ['True', 'Cordoned', `node ${nodeName} is unschedulable and marked${foreign}`];
}

/** A repair does not look like a beginning. */
function unsettledPhase(facts: StatusFacts): string {
  return (facts.heldAlready ? facts.stance.maintenance.status?.phase : undefined) ?? 'Pending';
}

function cordonOnly(facts: StatusFacts): Words {
  const cordoned = cordonedWords(facts);
  const settled = cordoned[0] === 'True';
  const { nodeName, nodeDrainPolicy } = facts.stance.spec;
  return {
    phase: settled ? 'UnderMaintenance' : unsettledPhase(facts),
    ready: settled
      ? [
          'True',
          'Cordoned',
          `node ${nodeName} is cordoned; its pods stay (nodeDrainPolicy ${nodeDrainPolicy})`,
        ]
      : cordoned,
    cordoned,
    drained: ['False', 'PolicyDoesNotDrain', `nodeDrainPolicy ${nodeDrainPolicy} does not drain`],
    reconciling: !settled,
  };
}

function evacuating(facts: StatusFacts): Words {
  const cordoned = cordonedWords(facts);
  const { stance, drain } = facts;
  const settled = cordoned[0] === 'True';
  const checking: SaidCondition = ['Unknown', 'Checking', 'the pods of the node are not known yet'];
  const { refused } = stance;
  if (!drain) {
    const ready: SaidCondition = settled ? ['False', 'Draining', checking[2]] : cordoned;
    return {
      phase: settled ? 'Draining' : unsettledPhase(facts),
      ready,
      cordoned,
      drained: checking,
      blocked: checking,
      reconciling: true,
    };
  }
  const drained = drainedWords(drain);
  const blocked = blockedWords(drain);
  const detached = detachedWords(drain);
  const base = { cordoned, drained, detached, ...(blocked ? { blocked } : {}) };
  if (refused !== undefined) {
    const { reason, message } = refused;
    const ready: SaidCondition = ['False', reason, `nothing is evicted: ${message}`];
    return { ...base, phase: 'Failed', ready, stalled: reason };
  }
  const { failure } = drain.clock.times;
  if (failure) {
    const message = `gave up: ${failure.message}; ${left(drain)}. Node ${stance.spec.nodeName} stays cordoned; an edit of spec.drain, suspend or nodeDrainPolicy begins again`;
    return { ...base, phase: 'Failed', ready: ['False', 'DrainFailed', message], stalled: 'DrainFailed' };
  }
  const { leftovers } = drain;
  const released = leftovers.names.length === 0 || leftovers.timedOut;
  if (drain.view.remaining.length === 0 && released && settled) {
    return { ...base, phase: 'UnderMaintenance', ready: ['True', 'Drained', drainedMessage(drain)] };
  }
  const phase = settled ? 'Draining' : unsettledPhase(facts);
  if (stance.spec.suspend) {
    return {
      ...base,
      phase,
      ready: ['False', 'Suspended', `suspended: nothing new is evicted; ${left(drain)}`],
    };
  }
  if (!settled) return { ...base, phase, ready: cordoned, reconciling: true };
  const reason = blocked ? 'DrainBlocked' : 'Draining';
  return {
    ...base,
    phase,
    ready: ['False', reason, `${left(drain)}${movesPart(drain)}${blocked ? `. ${blocked[2]}` : ''}`],
    reconciling: true,
  };
}

function problem({ nodeWriteProblem }: StatusFacts): string {
  return nodeWriteProblem === undefined ? '' : `; the last try failed: ${nodeWriteProblem}`;
}
