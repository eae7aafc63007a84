/** The main job from beginning to end: out of service, drained, and put back exactly as it was. */
import { expect, test } from '@jest/globals';
import { nodeMaintenancesPath } from '../../src/api/names.ts';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import { sharedTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { History } from './support/history.ts';
import { condition, isReady, nodeCondition, said, taintsOf } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

const MARK = 'haulout.dev/maintenance:PreferNoSchedule';
const CORDON = 'node.kubernetes.io/unschedulable:NoSchedule';

test.concurrent('a node is drained, says so, and is put back exactly as it was', async () => {
  const island = await bed.island('drain', {
    labels: { 'example.com/rack': 'r7' },
    annotations: { 'example.com/owner': 'team-a' },
    taints: [{ key: 'example.com/dedicated', value: 'shop', effect: 'PreferNoSchedule' }],
  });
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('web', { replicas: 3 }),
    island.statefulSet('db', { replicas: 2, stopsIn: '2s' }),
    island.daemonSet('agent'),
  );
  expect(placed).toHaveLength(6);
  const leaving = placed.filter((pod) => pod.metadata.labels?.['app'] !== 'agent');
  const uids = leaving.map((pod) => pod.metadata.uid).toSorted();
  const before = await bed.snapshot(node);
  expect(before.labels['example.com/rack']).toBe('r7');

  await bed.maintain(node, { reason: 'Firmware 4.2' });
  await bed.kubectl.run(['wait', `nmaint/${node}`, '--for=condition=Drained', '--timeout=30s']);

  const drained = await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(drained.status?.phase).toBe('UnderMaintenance');
  expect(said(drained, 'Drained')).toBe('True/Drained');
  expect(said(drained, 'Cordoned')).toBe('True/Cordoned');
  expect(condition(drained, 'DrainBlocked')?.status).toBe('False');
  expect(condition(drained, 'Reconciling')).toBeUndefined();
  expect(condition(drained, 'Stalled')).toBeUndefined();
  expect(drained.status?.drain?.pods).toEqual({
    total: 5,
    gone: 5,
    remaining: 0,
    terminating: 0,
    ignored: 1,
  });
  expect(drained.status?.drain?.progress).toBe('5/5');
  expect(drained.status?.blockersTotal).toBe(0);
  const { startTime, drain } = drained.status ?? {};
  expect(Date.parse(startTime ?? '')).toBeLessThanOrEqual(Date.parse(drain?.startTime ?? ''));
  expect(Date.parse(drain?.startTime ?? '')).toBeLessThanOrEqual(Date.parse(drain?.completionTime ?? ''));

  // The node: what is put on, and that it is all.
  // Its conditions are written last.
  const during = await bed.eventually('the node says that it is drained', async () => {
    const found = await bed.api.node(node);
    return nodeCondition(found, 'Drained')?.status === 'True' && found;
  });
  expect(drained.status?.node).toMatchObject({ uid: during.metadata.uid, before: { unschedulable: false } });
  expect(during.spec?.unschedulable).toBe(true);
  expect(taintsOf(during)).toEqual(['example.com/dedicated=shop:PreferNoSchedule', MARK, CORDON].toSorted());
  expect(during.metadata.labels).toEqual({
    ...before.labels,
    'haulout.dev/maintenance': 'true',
    'remediation.medik8s.io/exclude-from-remediation': 'true',
    'node.kubernetes.io/exclude-from-external-load-balancers': 'true',
  });
  expect((await bed.snapshot(node)).annotations).toEqual({
    ...before.annotations,
    'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true',
    'karpenter.sh/do-not-disrupt': 'true',
    'haulout.dev/maintenance': expect.stringContaining(drained.metadata.uid),
  });
  expect(during.metadata.annotations?.['haulout.dev/maintenance']).toContain('Firmware 4.2');
  expect(nodeCondition(during, 'MaintenanceInProgress')?.status).toBe('True');
  expect(nodeCondition(during, 'DrainInProgress')?.status).toBe('False');
  expect(nodeCondition(during, 'MaintenancePlanned')?.status).toBe('False');

  // The pods: each was evicted once, as itself, and runs elsewhere now. The DaemonSet's pod never left.
  const posts = bed.audit.evictions(namespace);
  expect(posts.map(({ uid }) => uid).toSorted()).toEqual(uids);
  expect(posts.every(({ accepted, byOperator }) => accepted && byOperator)).toBe(true);
  const left = (await bed.api.podsOnNode(node)).map((pod) => pod.metadata.uid);
  expect(left).toEqual(
    placed.filter((pod) => pod.metadata.labels?.['app'] === 'agent').map((pod) => pod.metadata.uid),
  );
  await bed.eventually('the pods run on the other node', async () => {
    const pods = (await bed.api.pods(namespace)).filter((pod) => pod.metadata.labels?.['app'] !== 'agent');
    return pods.length === 5 && pods.every((pod) => isReady(pod) && pod.spec.nodeName === island.spares[0]);
  });
  expect(bed.audit.nodePatches(node)).toHaveLength(1);

  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
  const [, restoring, ...others] = bed.audit.nodePatches(node);
  expect(others).toEqual([]);
  // In one write: the cordon, and its taint with it.
  const dedicated = { key: 'example.com/dedicated', value: 'shop', effect: 'PreferNoSchedule' };
  expect(restoring?.requestObject).toMatchObject({ spec: { unschedulable: null, taints: [dedicated] } });
  expect((await bed.api.node(node)).metadata.uid).toBe(during.metadata.uid);
});

test.concurrent('the status tells the truth on the way, and says what is wanted before anything is done', async () => {
  const island = await bed.island('story');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('slow', { replicas: 2, stopsIn: '3s' }),
    island.deployment('quick', { replicas: 3 }),
  );
  const history = await History.of<NodeMaintenance>(bed.files.kubeconfig, nodeMaintenancesPath, node);
  await bed.maintain(node);
  const versions = await history.upTo(await bed.untilSaid(node, 'Drained', 'True/Drained'));

  const phases = versions.flatMap(({ status }) => status?.phase ?? []);
  const steps = phases.filter((phase, index) => phase !== phases[index - 1]);
  expect(steps.filter((phase) => phase !== 'Pending')).toEqual(['Draining', 'UnderMaintenance']);
  const counts = versions.flatMap(({ status }) => status?.drain?.pods ?? []);
  expect(counts.length).toBeGreaterThan(1);
  for (const { total, gone, remaining, terminating } of counts) {
    expect(total).toBe(5);
    expect(gone + remaining).toBe(total);
    expect(terminating).toBeLessThanOrEqual(remaining);
  }
  expect(counts.some(({ terminating }) => terminating > 0)).toBe(true);
  expect(counts.map(({ gone }) => gone)).toEqual(counts.map(({ gone }) => gone).toSorted((a, b) => a - b));
  const starts = new Set(versions.flatMap(({ status }) => status?.startTime ?? []));
  expect(starts.size).toBe(1);
  const told = versions.filter(({ status }) => status?.conditions !== undefined);
  for (const { metadata, status } of told) {
    expect(status?.conditions?.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['Ready', 'Cordoned', 'Drained', 'DrainBlocked']),
    );
    expect(status?.observedGeneration).toBe(metadata.generation);
  }

  // kstatus and kubectl wait must never see a Ready of the time before.
  const [firstStatus] = bed.audit.entries({
    resource: 'nodemaintenances',
    subresource: 'status',
    name: node,
  });
  const [firstPatch] = bed.audit.nodePatches(node);
  const [firstEviction] = bed.audit.accepted(namespace);
  const saidAt = Date.parse(firstStatus?.stageTimestamp ?? '');
  expect(saidAt).toBeLessThanOrEqual(Date.parse(firstPatch?.requestReceivedTimestamp ?? ''));
  expect(saidAt).toBeLessThanOrEqual(firstEviction?.askedAt ?? 0);
  expect(Date.parse(firstPatch?.stageTimestamp ?? '')).toBeLessThanOrEqual(firstEviction?.askedAt ?? 0);
  expect(said(told[0]!, 'Ready')).toMatch(/^False\//);
  for (const { status } of versions.filter((one) => !told.includes(one)))
    expect(status).toEqual({ observedGeneration: -1 });
});

test.concurrent('a maintenance that ends in mid-drain puts the node back at once and evicts nothing more', async () => {
  const island = await bed.island('cut');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('held', { replicas: 2 }),
    island.budget('held', { minAvailable: 2 }),
    island.deployment('slow', { replicas: 1, stopsIn: '20s', gracePeriodSeconds: 60 }),
  );
  const before = await bed.snapshot(node);
  await bed.maintain(node);
  await bed.until(node, 'one is terminating, two are held up', ({ status }) => {
    return status?.blockersTotal === 2 && status.drain?.pods?.terminating === 1;
  });
  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
  await bed.kubectl.run(['delete', 'pdb', 'held', `--namespace=${namespace}`]);
  await holdsFor(2000, 'the others stay', () => bed.audit.accepted(namespace).length === 1);
  const stayed = (await bed.api.podsOnNode(node)).filter((pod) => pod.metadata.labels?.['app'] === 'held');
  expect(stayed.filter(isReady)).toHaveLength(2);
});

test.concurrent('few events tell the story, none of them about a pod', async () => {
  const island = await bed.island('events');
  const { node } = island;
  await bed.place(island, island.deployment('web', { replicas: 4 }));
  await bed.maintain(node);
  const { metadata } = await bed.untilSaid(node, 'Ready', 'True/Drained');
  await bed.endMaintenance(node);

  await bed.eventually('all events are there', async () => {
    const ofMaintenance = await bed.api.events('NodeMaintenance', node);
    const ofNode = (await bed.api.events('Node', node)).filter(({ reason }) =>
      reason.startsWith('Maintenance'),
    );
    expect(ofMaintenance.map(({ reason }) => reason).toSorted()).toEqual([
      'Drained',
      'MaintenanceStarted',
      'Restored',
    ]);
    expect(ofNode.map(({ reason }) => reason).toSorted()).toEqual(['MaintenanceEnded', 'MaintenanceStarted']);
    expect(ofMaintenance.every(({ regarding }) => regarding.uid === metadata.uid)).toBe(true);
    return true;
  });
  expect(
    bed.audit.entries({ resource: 'events', namespace: island.namespace, byOperator: true }),
  ).toHaveLength(0);
});

test.concurrent('kubectl get shows where it stands in one line', async () => {
  const island = await bed.island('columns');
  const { node } = island;
  await bed.place(island, island.deployment('web', { replicas: 2 }));
  await bed.maintain(node, { reason: 'New disks' });
  await bed.untilSaid(node, 'Ready', 'True/Drained');

  const [header = '', row = ''] = (await bed.kubectl.run(['get', 'nmaint', node])).split('\n');
  expect(header.trim().split(/\s+/)).toEqual(['NAME', 'NODE', 'PHASE', 'PROGRESS', 'BLOCKERS', 'AGE']);
  expect(row.trim().split(/\s+/).slice(0, 5)).toEqual([node, node, 'UnderMaintenance', '2/2', '0']);
  const wide = await bed.kubectl.run(['get', 'nodemaintenances', node, '--output=wide']);
  expect(wide.split('\n')[0]?.trim().split(/\s+/).slice(6)).toEqual(['POLICY', 'READY', 'STARTED', 'REASON']);
  expect(wide).toContain('New disks');
  expect(await bed.kubectl.run(['get', 'maintenance', '--output=name'])).toContain(
    `nodemaintenance.haulout.dev/${node}`,
  );
});

test.concurrent('an empty node is drained at once, and pods that arrive later leave too', async () => {
  const island = await bed.island('empty', { spares: 0 });
  const { node, namespace } = island;
  await bed.maintain(node, { drain: { unmanagedPods: 'Evict' } });
  const empty = await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(empty.status?.drain?.pods).toEqual({ total: 0, gone: 0, remaining: 0, terminating: 0, ignored: 0 });

  const late = island.barePod('late', { spec: { nodeName: node } });
  await bed.kubectl.apply(late);
  await bed.eventually('the late pod was evicted', () => bed.audit.accepted(namespace).length === 1);
  await bed.until(node, 'drained again', (object) => {
    return said(object, 'Drained') === 'True/Drained' && object.status?.drain?.pods?.gone === 1;
  });
  expect(await bed.api.podsOnNode(node)).toHaveLength(0);
});
