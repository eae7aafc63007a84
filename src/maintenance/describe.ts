import type { ConditionStatus, ConditionType, WantedCondition } from './conditions.ts';
import { podName } from './pods.ts';
import type { DrainFacts, StatusFacts } from './status.ts';

// The words of the status: phase, conditions, reasons and messages. docs/conditions.md lists the reasons.

/** A node that is not found for so long is probably a wrong name. */
export const nodeNotFoundStalledMs = 5 * 60_000;

export interface Description {
  readonly phase: string;
  readonly conditions: readonly WantedCondition[];
}

interface Words {
  readonly phase: string;
  readonly ready: readonly [ConditionStatus, string, string];
  readonly cordoned: readonly [ConditionStatus, string, string];
  readonly drained: readonly [ConditionStatus, string, string];
  readonly blocked?: readonly [ConditionStatus, string, string];
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
      condition('DrainBlocked', words.blocked ?? ['False', 'NotBlocked', 'no pod is held up']),
      ...(words.reconciling ? [condition('Reconciling', ['True', readyReason, readyMessage])] : []),
      ...(words.stalled === undefined ? [] : [condition('Stalled', ['True', words.stalled, readyMessage])]),
    ],
  };
}

function condition(type: ConditionType, [status, reason, message]: Words['ready']): WantedCondition {
  return { type, status, reason, message };
}

function choose(facts: StatusFacts): Words {
  const { stance, now } = facts;
  const { nodeName } = stance.spec;
  switch (stance.kind) {
    case 'restoring': {
      const message = `node ${nodeName} is being put back as it was${problem(facts)}`;
      return {
        ...unknownNode('Restoring', message),
        phase: 'Restoring',
        ready: ['False', 'Restoring', message],
        reconciling: true,
      };
    }
    case 'nodeNotFound': {
      const message = `there is no node ${nodeName}; check spec.nodeName, or let the node join`;
      const since = Date.parse(stance.maintenance.metadata.creationTimestamp);
      const stalled =
        now - since >= nodeNotFoundStalledMs ? { stalled: 'NodeNotFound' } : { reconciling: true };
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
        `suspended before it began: node ${nodeName} is as it was; set spec.suspend to false to begin`,
      );
    case 'waitingForTurn':
      return {
        ...pending(
          'WaitingForTurn',
          `node ${nodeName} waits for its turn: as many nodes are out of service as --max-unavailable-nodes allows`,
        ),
        reconciling: true,
      };
    case 'announced':
      return {
        phase: 'UnderMaintenance',
        ready: [
          'True',
          'Announced',
          `the maintenance of node ${nodeName} is announced; nodeDrainPolicy Ignore changes nothing on it`,
        ],
        cordoned: ['False', 'PolicyIgnore', 'nodeDrainPolicy Ignore does not cordon'],
        drained: ['False', 'PolicyDoesNotDrain', 'nodeDrainPolicy Ignore does not drain'],
      };
    case 'holding':
      return stance.evacuates ? evacuating(facts) : cordonOnly(facts);
  }
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

function cordonedWords(facts: StatusFacts): Words['cordoned'] {
  const { stance, nodeSettled, uncordonedByHand, foreignTaints } = facts;
  const { nodeName } = stance.spec;
  if (uncordonedByHand)
    return [
      'False',
      'UncordonedByHand',
      `somebody made node ${nodeName} schedulable; it is being cordoned again`,
    ];
  if (!nodeSettled)
    return ['False', 'Cordoning', `node ${nodeName} is being cordoned and marked${problem(facts)}`];
  const foreign =
    foreignTaints.length > 0
      ? `; left alone because the node has them with another value: ${foreignTaints.join(', ')}`
      : '';
  return ['True', 'Cordoned', `node ${nodeName} is unschedulable and marked${foreign}`];
}

function cordonOnly(facts: StatusFacts): Words {
  const cordoned = cordonedWords(facts);
  const settled = cordoned[0] === 'True';
  const { nodeName, nodeDrainPolicy } = facts.stance.spec;
  return {
    phase: settled ? 'UnderMaintenance' : 'Pending',
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
  const checking: Words['drained'] = ['Unknown', 'Checking', 'the pods of the node are not known yet'];
  const invalid = stance.invalid;
  if (!drain) {
    const ready: Words['ready'] = settled ? ['False', 'Draining', checking[2]] : cordoned;
    return {
      phase: settled ? 'Draining' : 'Pending',
      ready,
      cordoned,
      drained: checking,
      blocked: checking,
      reconciling: true,
    };
  }
  const drained = drainedWords(drain);
  const blocked = blockedWords(drain);
  const base = { cordoned, drained, ...(blocked ? { blocked } : {}) };
  if (invalid !== undefined) {
    return {
      ...base,
      phase: 'Failed',
      ready: ['False', 'InvalidSpec', `nothing is evicted: ${invalid}`],
      stalled: 'InvalidSpec',
    };
  }
  const { failure } = drain.clock.times;
  if (failure) {
    const message = `gave up: ${failure.message}; ${left(drain)}. Node ${stance.spec.nodeName} stays cordoned; an edit of spec.drain, suspend or nodeDrainPolicy begins again`;
    return { ...base, phase: 'Failed', ready: ['False', 'DrainFailed', message], stalled: 'DrainFailed' };
  }
  if (drain.view.remaining.length === 0 && settled) {
    return { ...base, phase: 'UnderMaintenance', ready: ['True', 'Drained', drainedMessage(facts, drain)] };
  }
  const phase = settled || facts.uncordonedByHand ? 'Draining' : 'Pending';
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
    ready: ['False', reason, `${left(drain)}${blocked ? `. ${blocked[2]}` : ''}`],
    reconciling: true,
  };
}

function drainedWords({ view }: DrainFacts): Words['drained'] {
  if (view.remaining.length > 0) {
    return [
      'False',
      'PodsRemaining',
      `${count(view.remaining.length, 'pod')} ${view.remaining.length === 1 ? 'has' : 'have'} to leave`,
    ];
  }
  if (view.kept.length > 0) {
    return [
      'False',
      'PodsKept',
      `${count(view.kept.length, 'pod')} left alone as podSelector or Skip says: ${names(view.kept.map(podName))}`,
    ];
  }
  return [
    'True',
    'Drained',
    'nothing is left but DaemonSet and mirror pods and pods that are no longer waited for',
  ];
}

function drainedMessage({ stance }: StatusFacts, { view, gone }: DrainFacts): string {
  const kept =
    view.kept.length > 0 ? `; left alone as podSelector or Skip says: ${names(view.kept.map(podName))}` : '';
  const abandoned =
    view.abandoned.length > 0
      ? `; no longer waited for, because the node is not Ready: ${names(view.abandoned.map(podName))}`
      : '';
  return `node ${stance.spec.nodeName} is drained, ${count(gone, 'pod')} gone${kept}${abandoned}`;
}

function blockedWords({ blockers }: DrainFacts): Words['blocked'] {
  const [first] = blockers;
  if (!first) return undefined;
  const causes = [...new Set(blockers.map(({ cause }) => cause))];
  const lines = causes.slice(0, 5).map((cause) => {
    const group = blockers.filter((blocker) => blocker.cause === cause);
    const message = group[0]?.message ?? '';
    return `${cause}: ${names(group.map(({ pod }) => `${pod.namespace}/${pod.name}`))}: ${message}`;
  });

  return ['True', first.cause, `${count(blockers.length, 'pod')} cannot leave now. ${lines.join('. ')}`];
}

function left({ view, gone }: DrainFacts): string {
  const remaining = view.remaining.length;
  const terminating = view.terminating > 0 ? `, ${view.terminating} of them terminating` : '';
  return `${gone} of ${count(gone + remaining, 'pod')} gone, ${remaining} left${terminating}`;
}

/** Three at most, so that a line stays a line. */
function names(all: readonly string[]): string {
  const shown = all.toSorted().slice(0, 3).join(', ');
  return all.length > 3 ? `${shown} and ${all.length - 3} more` : shown;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function problem({ nodeWriteProblem }: StatusFacts): string {
  return nodeWriteProblem === undefined ? '' : `; the last try failed: ${nodeWriteProblem}`;
}
