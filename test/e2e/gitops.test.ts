/**
 * What Argo CD (its health.lua), Flux and Helm (kstatus) make of a maintenance in each of its states, as kubectl prints
 * it. UPDATE_TESTDATA=1 writes the test data beside health.lua from what the cluster says.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { repositoryRoot } from '../../hack/cluster/lib/paths.ts';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { nodeMaintenancePath } from '../../src/api/names.ts';
import type { NodeMaintenance, NodeMaintenanceSpec } from '../../src/api/types.generated.ts';
import { kstatus } from '../fixtures/kstatus.ts';
import { ownTestBed } from './support/beds.ts';
import { budget, deployment, maintenance } from './support/builders.ts';
import {
  argoHealth,
  comparable,
  healthCases,
  inputPath,
  isUpdate,
  kstatusOf,
  maskedText,
  testdata,
  writeTestdata,
} from './support/gitops.ts';
import { runProgram } from './support/kubectl.ts';
import { refuseNodeUpdates } from './support/node-policy.ts';
import { isReady, said } from './support/status.ts';

const bed = ownTestBed(import.meta.filename);
const NAMESPACE = 'shop';
/** By state, which is also the name of the file. */
const printed = new Map<string, string>();

/** What each must be taken for. */
const STATES = {
  progressing_new: ['Progressing', 'InProgress', undefined],
  'progressing_waiting-for-turn': ['Progressing', 'InProgress', 'Pending'],
  'progressing_node-not-found': ['Progressing', 'InProgress', 'Pending'],
  progressing_draining: ['Progressing', 'InProgress', 'Draining'],
  'progressing_drain-blocked': ['Progressing', 'InProgress', 'Draining'],
  progressing_edited: ['Progressing', 'InProgress', 'UnderMaintenance'],
  'progressing_restoring-deleted': ['Progressing', 'Terminating', 'Restoring'],
  'progressing_restoring-ignored': ['Progressing', 'InProgress', 'Restoring'],
  progressing_released: ['Progressing', 'InProgress', 'Pending'],
  'suspended_before-start': ['Suspended', 'InProgress', 'Pending'],
  'suspended_in-drain': ['Suspended', 'InProgress', 'Draining'],
  healthy_drained: ['Healthy', 'Current', 'UnderMaintenance'],
  healthy_cordoned: ['Healthy', 'Current', 'UnderMaintenance'],
  healthy_announced: ['Healthy', 'Current', 'UnderMaintenance'],
  'degraded_drain-failed': ['Degraded', 'Failed', 'Failed'],
  'degraded_node-gone': ['Degraded', 'Failed', 'NodeGone'],
  'degraded_node-not-found': ['Degraded', 'Failed', 'Pending'],
  'degraded_not-permitted': ['Degraded', 'Failed', 'Failed'],
  'degraded_invalid-spec': ['Degraded', 'Failed', 'Failed'],
} as const;
type State = keyof typeof STATES;

async function print(state: State, name: string): Promise<void> {
  printed.set(state, await bed.kubectl.run(['get', 'nmaint', name, '--output=yaml']));
}

/** `kubectl create`: an annotation of `kubectl apply` would only be in the way of the reader. */
async function create(name: string, spec: Omit<NodeMaintenanceSpec, 'nodeName'> = {}): Promise<void> {
  const stdin = JSON.stringify(maintenance(name, name, spec));
  await bed.kubectl.run(['create', '--filename=-'], { stdin });
}

/** A workload that stays where it is until it is evicted. */
async function place(node: string, stopsIn: string, isHeld: boolean): Promise<void> {
  const options = { stopsIn, gracePeriodSeconds: 600, nodeSelector: { 'kubernetes.io/hostname': node } };
  await bed.kubectl.apply(
    deployment(NAMESPACE, node, options),
    ...(isHeld ? [budget(NAMESPACE, node, { minAvailable: 1 })] : []),
  );
  await bed.eventually(`a pod runs on ${node}`, async () => (await bed.api.podsOnNode(node)).some(isReady));
  if (isHeld) await bed.budgetSettled(NAMESPACE, node);
}

async function reach(
  state: State,
  name: string,
  spec: Omit<NodeMaintenanceSpec, 'nodeName'>,
  ready: string,
): Promise<void> {
  await create(name, spec);
  await bed.untilSaid(name, 'Ready', ready);
  await print(state, name);
}

/** Nothing but its length is wrong, which the CustomResourceDefinition cannot measure. */
const TOO_LONG = { podSelector: { matchLabels: { [`${Array(32).fill('example').join('.')}/app`]: 'web' } } };
const DELETING = { timeoutSeconds: 600, onTimeout: 'Delete' } as const;

async function beforeAnyOperator(): Promise<void> {
  await create('drained');
  await print('progressing_new', 'drained');
}

/** One node may be out of service, and another one has the turn. */
async function whileOneNodeIsAllowed(): Promise<void> {
  const operator = await bed.startOperator({ flags: ['--max-unavailable-nodes=1'] });
  await bed.untilSaid('drained', 'Ready', 'True/Drained');
  await print('healthy_drained', 'drained');
  await reach(
    'progressing_waiting-for-turn',
    'cordoned',
    { nodeDrainPolicy: 'NoSchedule' },
    'False/WaitingForTurn',
  );
  await reach('progressing_node-not-found', 'nowhere', {}, 'False/NodeNotFound');
  await operator.stop();
}

/** As if its node had been missing for longer than the operator waits for it. */
async function longAgo(name: string): Promise<void> {
  const lastTransitionTime = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const { status } = await bed.maintenance(name);
  const conditions = status?.conditions?.map((condition) => ({ ...condition, lastTransitionTime }));
  await bed.api.mergePatch(`${nodeMaintenancePath(name)}/status`, { status: { conditions } });
}

async function whileAllAreAllowed(): Promise<void> {
  const flags = ['--max-unavailable-nodes=100%', '--allow-pod-deletion=false'];
  const operator = await bed.startOperator({ flags });
  await bed.untilSaid('nowhere', 'Stalled', 'True/NodeNotFound');
  await print('degraded_node-not-found', 'nowhere');
  await bed.untilSaid('cordoned', 'Ready', 'True/Cordoned');
  await print('healthy_cordoned', 'cordoned');
  await reach('healthy_announced', 'announced', { nodeDrainPolicy: 'Ignore' }, 'True/Announced');
  await reach('degraded_not-permitted', 'refused', { drain: DELETING }, 'False/NotPermitted');
  await reach('degraded_invalid-spec', 'misspelt', { drain: TOO_LONG }, 'False/InvalidSpec');
  await reach('suspended_before-start', 'suspended', { suspend: true }, 'False/Suspended');
  await create('draining');
  await bed.until('draining', 'its pod stops', ({ status }) => status?.drain?.pods?.terminating === 1);
  await print('progressing_draining', 'draining');

  await reach('progressing_drain-blocked', 'blocked', {}, 'False/DrainBlocked');
  await bed.edit('blocked', { suspend: true });
  await bed.untilSaid('blocked', 'Ready', 'False/Suspended');
  await print('suspended_in-drain', 'blocked');
  await reach('degraded_drain-failed', 'failed', { drain: { timeoutSeconds: 5 } }, 'False/DrainFailed');
  await create('gone');
  await bed.untilSaid('gone', 'Ready', 'True/Drained');
  await bed.kubectl.run(['delete', 'node', 'gone']);
  await bed.untilSaid('gone', 'Ready', 'False/NodeGone');
  await print('degraded_node-gone', 'gone');

  await whileNodesCannotBeWritten();
  await operator.stop();
  await bed.edit('drained', { reason: 'Firmware 4.3' });
  await print('progressing_edited', 'drained');
}

/** As the Job of the chart does it before a release is uninstalled. */
async function afterTheOperator(): Promise<void> {
  const args = ['release-all', `--kubeconfig=${bed.files.operatorKubeconfig}`];
  const { code, stderr } = await runProgram(join(repositoryRoot, 'bin', 'haulout'), args);
  expect([code, stderr]).toEqual([0, '']);
  await print('progressing_released', 'drained');
}

async function whileNodesCannotBeWritten(): Promise<void> {
  await create('deleted');
  await create('ignored');
  for (const name of ['deleted', 'ignored']) await bed.untilSaid(name, 'Ready', 'True/Drained');
  const allow = await refuseNodeUpdates(bed, ['deleted', 'ignored']);
  await bed.kubectl.run(['delete', 'nmaint', 'deleted', '--wait=false']);
  await bed.edit('ignored', { nodeDrainPolicy: 'Ignore' });
  const refused = /being put back.*the node is held/s;
  for (const name of ['deleted', 'ignored'])
    await bed.until(name, 'it tells what it waits for', (object) => {
      const ready = object.status?.conditions?.find(({ type }) => type === 'Ready');
      return said(object, 'Ready') === 'False/Restoring' && refused.test(ready?.message ?? '');
    });
  await print('progressing_restoring-deleted', 'deleted');
  await print('progressing_restoring-ignored', 'ignored');
  await allow();
  await bed.kubectl.run(['wait', '--for=delete', 'nmaint/deleted', '--timeout=60s']);
}

const NODES = [
  'drained',
  'cordoned',
  'announced',
  'suspended',
  'draining',
  'blocked',
  'failed',
  'gone',
  'refused',
  'misspelt',
  'deleted',
  'ignored',
];

beforeAll(async () => {
  await bed.namespace(NAMESPACE);
  await Promise.all(NODES.map(async (node) => bed.addNode(node)));
  await Promise.all([
    place('draining', '300s', false),
    place('blocked', '1s', true),
    place('failed', '1s', true),
  ]);
  await beforeAnyOperator();
  await whileOneNodeIsAllowed();
  await longAgo('nowhere');
  await whileAllAreAllowed();
  await afterTheOperator();
}, 240_000);

afterAll(async () => {
  if (!isUpdate) return;
  const missing = Object.keys(STATES).filter((state) => !printed.has(state));
  if (missing.length > 0) throw new Error(`not reached, so nothing is written: ${missing.join(', ')}`);
  await writeTestdata(new Map(Object.keys(STATES).map((state) => [state, printed.get(state) ?? ''])));
});

describe.each(Object.entries(STATES))('%s', (state, [argo, flux, phase]) => {
  test('Argo CD, Flux and Helm read it as it is meant', async () => {
    const yaml = printed.get(state) ?? '';
    const object = as<NodeMaintenance>(parse(yaml));
    expect(object.status?.phase).toBe(phase);
    expect(await argoHealth(yaml)).toMatchObject({ status: argo, message: expect.stringMatching(/\S/) });
    expect(await kstatusOf(yaml)).toMatchObject({ status: flux });
    // What the other tests take for kstatus says the same.
    expect(kstatus(object)).toBe(flux);
  });

  (isUpdate ? test.skip : test)('the test data is what kubectl prints', async () => {
    const yaml = printed.get(state) ?? '';
    const saved = testdata(state);
    expect(comparable(yaml)).toEqual(comparable(saved));
    const expected = healthCases().find((one) => one.inputPath === inputPath(state))?.healthStatus;
    expect(await argoHealth(saved)).toEqual(expected);
    expect(maskedText((await argoHealth(yaml)).message)).toBe(maskedText(expected?.message ?? ''));
  });
});
