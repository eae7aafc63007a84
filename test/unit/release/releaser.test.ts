import { describe, expect, test } from '@jest/globals';
import { evacuateFinalizer, maintenanceAnnotation, restoreNodeFinalizer } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import type { Answer, Refusal } from '../../../src/kube/answer.ts';
import type { Node } from '../../../src/kube/types.ts';
import { Releaser } from '../../../src/release/releaser.ts';
import { FakeClock, settle } from '../../fixtures/fake-clock.ts';
import { kstatus } from '../../fixtures/kstatus.ts';
import { applyMergePatch } from '../../fixtures/merge-patch.ts';
import { node, pod } from '../../fixtures/objects.ts';
import { ScriptedClient, type ScriptedRequest } from '../../fixtures/scripted-client.ts';
import { Stage } from '../../fixtures/stage.ts';

/** What an API server holds, without its checks; nothing is refused unless the test says so. */
class Cluster {
  readonly nodes = new Map<string, Node>();
  readonly maintenances = new Map<string, NodeMaintenance>();
  readonly said: string[] = [];
  readonly clock = new FakeClock();
  refuse: (request: ScriptedRequest) => Refusal | undefined = () => undefined;
  readonly client = new ScriptedClient((request) => this.refuse(request) ?? this.#answer(request));
  readonly releaser = new Releaser({
    client: this.client,
    clock: this.clock,
    say: (line) => this.said.push(line),
  });

  /** With what is on the stage. */
  static of(stage: Stage): Cluster {
    const cluster = new Cluster();
    if (stage.node) cluster.nodes.set(stage.node.metadata.name, stage.node);
    for (const each of stage.maintenances) cluster.maintenances.set(each.metadata.name, each);
    return cluster;
  }

  get writes(): string[] {
    return this.client.requests
      .filter(({ verb }) => verb !== 'list')
      .map(({ verb, path }) => `${verb} ${path}`);
  }

  #answer({ verb, path, body }: ScriptedRequest): Answer {
    const [, collection, name, status] =
      /\/(nodes|nodemaintenances)(?:\/([^/]+))?(?:\/(status))?$/.exec(path) ?? [];
    const objects: Map<string, unknown> = collection === 'nodes' ? this.nodes : this.maintenances;
    if (verb === 'list')
      return { kind: 'ok', object: { metadata: { resourceVersion: '1' }, items: [...objects.values()] } };
    const old = objects.get(name ?? '');
    if (old === undefined) return { kind: 'notFound', message: 'not found' };
    if (collection === 'nodes' && status) {
      this.nodes.set(name ?? '', { ...(old as Node), status: {} });
      return { kind: 'ok', object: this.nodes.get(name ?? '') };
    }
    const renewed = applyMergePatch(old as object, body as object);
    objects.set(name ?? '', renewed);
    return { kind: 'ok', object: renewed };
  }
}

async function released(cluster: Cluster): Promise<readonly string[]> {
  const late = new AbortController();
  const run = cluster.releaser.run(late.signal);
  await settle();
  late.abort(new Error('time is over'));
  await run;
  return cluster.releaser.left;
}

const drained = (spec: Parameters<Stage['create']>[0] = {}) => {
  const stage = Object.assign(new Stage().create(spec), { pods: [] });
  stage.settle();
  return stage;
};

describe('a node in maintenance', () => {
  test('is put back as it was, and only then the maintenance is let go, which stays', async () => {
    const stage = drained({ nodeDeletePolicy: 'Evict', taints: [{ key: 'x', effect: 'NoSchedule' }] });
    const cluster = Cluster.of(stage);
    expect(stage.node?.metadata.finalizers).toEqual([evacuateFinalizer]);
    expect(await released(cluster)).toEqual([]);
    const before = node();
    const after = cluster.nodes.get('n1');
    expect(after?.spec?.unschedulable ?? false).toBe(false);
    expect(after?.spec?.taints ?? []).toEqual(before.spec?.taints ?? []);
    expect(after?.metadata.labels ?? {}).toEqual(before.metadata.labels ?? {});
    expect(after?.metadata.annotations ?? {}).toEqual(before.metadata.annotations ?? {});
    expect(after?.metadata.finalizers ?? []).toEqual([]);
    expect(cluster.writes).toEqual([
      'patch /api/v1/nodes/n1',
      'patch /api/v1/nodes/n1/status',
      'patch /apis/haulout.dev/v1alpha1/nodemaintenances/m1/status',
      'patch /apis/haulout.dev/v1alpha1/nodemaintenances/m1',
    ]);
    expect(cluster.said).toEqual(['node n1 is as it was before', 'maintenance m1 is released']);
  });

  test('is begun anew by an operator that comes later, as if nothing had been', async () => {
    const cluster = Cluster.of(drained());
    await released(cluster);
    const object = cluster.maintenances.get('m1');
    expect(object?.metadata.finalizers).toEqual([]);
    expect(object?.status?.conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['Ready', 'False', 'Released'],
      ['Cordoned', 'False', 'Released'],
      ['Drained', 'Unknown', 'Released'],
      ['VolumesDetached', 'Unknown', 'Released'],
      ['DrainBlocked', 'Unknown', 'Released'],
    ]);
    expect(object && kstatus(object)).toBe('InProgress');
    const stage = Object.assign(new Stage(), {
      node: cluster.nodes.get('n1'),
      maintenances: [...cluster.maintenances.values()],
      pods: [pod('a')],
    });
    const reasons = stage.settle();
    expect([stage.said('Cordoned'), reasons.posts.length]).toEqual(['True/Cordoned', 1]);
    expect(stage.events.map(({ reason }) => reason)).toContain('MaintenanceStarted');
    expect(stage.events.map(({ reason }) => reason)).not.toContain('CordonPutBack');
  });

  test('that was cordoned before stays cordoned', async () => {
    const stage = Object.assign(new Stage().create(), { node: node({ unschedulable: true }), pods: [] });
    stage.settle();
    const cluster = Cluster.of(stage);
    expect(await released(cluster)).toEqual([]);
    expect(cluster.nodes.get('n1')?.spec?.unschedulable).toBe(true);
  });
});

test('a maintenance that is being deleted goes without a last status', async () => {
  const stage = drained();
  stage.delete();
  const cluster = Cluster.of(stage);
  expect(await released(cluster)).toEqual([]);
  expect(cluster.writes.at(-1)).toBe('patch /apis/haulout.dev/v1alpha1/nodemaintenances/m1');
  expect(cluster.writes.filter((write) => write.endsWith('m1/status'))).toEqual([]);
});

test('maintenances without a node, or with a spec that nobody can read, are let go', async () => {
  const stage = drained();
  stage.node = undefined;
  const cluster = Cluster.of(stage);
  const [first] = stage.maintenances;
  cluster.maintenances.set('broken', {
    ...first,
    metadata: { ...first?.metadata, name: 'broken', uid: 'u', finalizers: [restoreNodeFinalizer, 'other'] },
    spec: { nodeName: 7 },
  } as unknown as NodeMaintenance);
  expect(await released(cluster)).toEqual([]);
  expect([...cluster.maintenances.values()].map(({ metadata }) => metadata.finalizers)).toEqual([
    [],
    ['other'],
  ]);
});

test('a record on a node whose maintenances do not exist any more is undone as well', async () => {
  const stage = drained();
  const cluster = Cluster.of(stage);
  cluster.maintenances.clear();
  expect(await released(cluster)).toEqual([]);
  expect(cluster.nodes.get('n1')?.metadata.annotations?.[maintenanceAnnotation]).toBeUndefined();
});

test('what is refused is tried again every second, and told in the end', async () => {
  const cluster = Cluster.of(drained());
  let refusing = true;
  cluster.refuse = ({ path }) =>
    refusing && path === '/api/v1/nodes/n1' ? { kind: 'forbidden', message: 'no' } : undefined;
  const late = new AbortController();
  const run = cluster.releaser.run(late.signal);
  await settle();
  expect([cluster.releaser.left, cluster.writes]).toEqual([['node n1: no'], ['patch /api/v1/nodes/n1']]);
  refusing = false;
  await cluster.clock.advance(1000);
  await settle();
  await run;
  expect(cluster.releaser.left).toEqual([]);
});

test('a cluster that cannot be read is not taken for an empty one', async () => {
  const cluster = new Cluster();
  cluster.refuse = () => ({ kind: 'serverError', code: 500, message: 'down' });
  expect(await released(cluster)).toEqual(['the cluster: down']);
});

test('without the CRD nodes are put back all the same', async () => {
  const stage = drained();
  const cluster = Cluster.of(stage);
  cluster.refuse = ({ path }) =>
    path.includes('nodemaintenances') ? { kind: 'notServed', message: 'no CRD' } : undefined;
  expect(await released(cluster)).toEqual([]);
  expect(cluster.nodes.get('n1')?.spec?.unschedulable ?? false).toBe(false);
});

test('nothing to do is done at once', async () => {
  const cluster = new Cluster();
  cluster.nodes.set('n1', node({ unschedulable: true }));
  expect([await released(cluster), cluster.writes]).toEqual([[], []]);
});
