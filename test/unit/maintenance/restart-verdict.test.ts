import { describe, expect, test } from '@jest/globals';
import {
  restartVerdict,
  type Deployment,
  type RestartFacts,
} from '../../../src/maintenance/restart-verdict.ts';
import { claim, deploymentOf, replicaSetOf } from '../../fixtures/deployments.ts';

type Spec = Partial<Deployment['spec']>;

function facts(spec: Spec = {}, changes: Partial<RestartFacts> = {}): RestartFacts {
  return {
    deployment: deploymentOf({ spec }),
    replicaSet: replicaSetOf(),
    claims: new Map(),
    maintenances: new Set(['uid-m1']),
    ...changes,
  };
}

function why(of: RestartFacts): string {
  const verdict = restartVerdict(of);
  return verdict.kind === 'no' ? verdict.why : verdict.kind;
}

function rolling(maxUnavailable: number | string, maxSurge: number | string, replicas = 4): Spec {
  return { replicas, strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable, maxSurge } } };
}

function template(spec: NonNullable<Deployment['spec']['template']['spec']>): Spec {
  return { template: { spec } };
}

/** A spec whose pods say for which maintenances they were restarted. */
function restarted(uids: string, more: Spec = {}): Spec {
  return { ...more, template: { metadata: { annotations: { 'haulout.dev/restarted-for': uids } } } };
}

test('a Deployment that is whole and never takes a pod away first may be restarted', () => {
  expect(restartVerdict(facts())).toEqual({ kind: 'safe' });
});

describe('the strategy', () => {
  test.each<[number | string, number | string, number, string]>([
    [0, 1, 4, 'safe'],
    // Unavailable rounds down, surge up.
    ['25%', '25%', 3, 'safe'],
    ['25%', '25%', 1, 'safe'],
    ['25%', '25%', 4, 'maxUnavailable 25% lets a rolling restart take 1 of 4 pods away first'],
    ['0%', '1%', 4, 'safe'],
    [1, 1, 4, 'maxUnavailable 1 lets a rolling restart take 1 of 4 pods away first'],
    // The API server refuses 0 and 0 as numbers; what rounds to both is maxUnavailable 1 to the controller.
    ['10%', '0%', 4, 'maxSurge 0 leaves no room for a replacement'],
    ['some', 1, 4, 'its strategy cannot be read'],
  ])('maxUnavailable %s, maxSurge %s of %i', (maxUnavailable, maxSurge, replicas, said) => {
    const deployment = deploymentOf({ replicas, spec: rolling(maxUnavailable, maxSurge, replicas) });
    expect(why(facts({}, { deployment }))).toBe(said);
  });

  test('Recreate, a pause and no replicas', () => {
    expect(why(facts({ strategy: { type: 'Recreate' } }))).toBe('strategy Recreate stops all pods first');
    expect(why(facts({ paused: true }))).toBe('the Deployment is paused');
    expect(why(facts({ replicas: 0 }))).toBe('the Deployment asks for no pods');
  });
});

describe('the template', () => {
  test.each<[string, NonNullable<Deployment['spec']['template']['spec']>, string]>([
    ['a host port', { containers: [{ ports: [{ hostPort: 80 }] }] }, 'its pods use ports of their node'],
    ['of a sidecar', { initContainers: [{ ports: [{ hostPort: 80 }] }] }, 'its pods use ports of their node'],
    [
      'the network of the node',
      { hostNetwork: true, containers: [{ ports: [{ containerPort: 80 }] }] },
      'its pods use ports of their node',
    ],
    ['that network without ports', { hostNetwork: true, containers: [{}] }, 'safe'],
    ['ports of the pod', { containers: [{ ports: [{ containerPort: 80 }] }] }, 'safe'],
    [
      'a disk',
      { volumes: [{ name: 'd', gcePersistentDisk: {} }] },
      'volume d can be used by one pod at a time',
    ],
    ['a volume of each pod', { volumes: [{ name: 'd', ephemeral: {} }] }, 'safe'],
  ])('%s', (_, spec, said) => {
    expect(why(facts(template(spec)))).toBe(said);
  });

  test.each<[readonly string[] | undefined, string]>([
    [['ReadWriteOnce'], 'claim data is ReadWriteOnce'],
    [['ReadWriteOncePod'], 'claim data is ReadWriteOncePod'],
    [['ReadOnlyMany', 'ReadWriteOnce'], 'claim data is ReadWriteOnce'],
    [['ReadWriteMany'], 'safe'],
    [['ReadWriteOnce', 'ReadWriteMany'], 'safe'],
    [undefined, 'claim data does not exist'],
  ])('a claim that is %j', (modes, said) => {
    const claims = new Map([['data', modes && claim('data', modes)]]);
    expect(why(facts({}, { claims }))).toBe(said);
  });
});

describe('the state', () => {
  test.each<[string, object, string]>([
    ['not seen by its controller yet', { observedGeneration: 1 }, 'a rollout is running'],
    ['pods of the old template', { updatedReplicas: 1 }, 'a rollout is running'],
    ['more pods than asked for', { replicas: 3 }, 'a rollout is running'],
    ['a pod that is not available', { availableReplicas: 1 }, '1 of 2 pods are available'],
  ])('%s', (_, status, said) => {
    expect(why(facts({}, { deployment: deploymentOf({ status }) }))).toBe(said);
  });

  test('the pod has to be of the newest ReplicaSet, and of this Deployment', () => {
    expect(why(facts({}, { replicaSet: replicaSetOf({ revision: '3' }) }))).toBe(
      'the pod is not of the newest ReplicaSet',
    );
    expect(why(facts({}, { replicaSet: replicaSetOf({ owner: 'uid-other' }) }))).toBe(
      'its ReplicaSet belongs to no Deployment',
    );
    expect(why(facts({}, { deployment: deploymentOf({ deletionTimestamp: '2026-01-01T00:00:00Z' }) }))).toBe(
      'the Deployment is being deleted',
    );
  });
});

describe('once for each maintenance', () => {
  const older = replicaSetOf({ revision: '3' });

  test('the pod goes with the rollout', () => {
    expect(restartVerdict(facts(restarted('uid-m1'), { replicaSet: older }))).toEqual({ kind: 'rolling' });
    // Its controller has not seen the restart yet.
    const deployment = deploymentOf({ spec: restarted('uid-m1'), status: { observedGeneration: 1 } });
    expect(restartVerdict(facts({}, { deployment }))).toEqual({ kind: 'rolling' });
  });

  test('a pod that came back stays held up', () => {
    const said = 'the Deployment was restarted for this maintenance already';
    expect(why(facts(restarted('uid-m1')))).toBe(said);
    expect(why(facts(restarted('uid-m0,uid-m1')))).toBe(said);
    expect(why(facts(restarted('uid-m2'), { maintenances: new Set(['uid-m1', 'uid-m2']) }))).toBe(said);
    expect(why(facts(restarted('uid-m2')))).toBe('safe');
  });

  test('a rollout that does not get on is not waited for', () => {
    const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }];
    const deployment = deploymentOf({ spec: restarted('uid-m1'), status: { conditions } });
    expect(why(facts({}, { deployment, replicaSet: older }))).toContain('does not get on');
    expect(why(facts(restarted('uid-m1', { paused: true }), { replicaSet: older }))).toContain('is paused');
  });
});
