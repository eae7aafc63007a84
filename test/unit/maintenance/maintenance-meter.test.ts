import { describe, expect, test } from '@jest/globals';
import { maintenanceAnnotation } from '../../../src/api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../../src/api/types.generated.ts';
import { Store } from '../../../src/kube/store.ts';
import type { Node } from '../../../src/kube/types.ts';
import { MaintenanceMeter } from '../../../src/maintenance/maintenance-meter.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { at, maintenance, node, noon } from '../../fixtures/objects.ts';

const seconds = noon / 1000;

function setup() {
  const metrics = createMetrics('1.2.3');
  const nodes = new Store<Node>();
  const maintenances = new Store<NodeMaintenance>().index('node', ({ spec }) => spec.nodeName);
  let now = noon;
  const meter = new MaintenanceMeter({ metrics, nodes, maintenances, clock: { now: () => now } });
  return {
    nodes,
    maintenances,
    later: (s: number) => (now += s * 1000),
    /** The lines of one metric, without its name. */
    read: async (name: string) => {
      meter.count();
      const text = await metrics.registry.getSingleMetricAsString(name);
      return text
        .split('\n')
        .filter((line) => line.startsWith(name))
        .map((line) => line.slice(name.length));
    },
    write: (version: number, status: NodeMaintenanceStatus, spec: Partial<NodeMaintenance['spec']> = {}) => {
      const object = maintenance(spec, { status });
      maintenances.put({
        ...object,
        metadata: { ...object.metadata, resourceVersion: `${version}` },
      });
    },
  };
}

const ofM1 = '{maintenance="m1",node="n1"}';
const pods = { total: 3, gone: 1, remaining: 2, terminating: 1, blocked: 0, ignored: 0 };

const blocker = (cause: string, since: number) => ({
  pod: { namespace: 'shop', name: 'web-1' },
  cause,
  message: '',
  since: at(since),
});

describe('a drain under way', () => {
  test('tells its pods, and its deadline without the time in which it stood still', async () => {
    const { read, write } = setup();
    write(
      1,
      { phase: 'Draining', drain: { startTime: at(0), activeSeconds: 40, pods } },
      { drain: { timeoutSeconds: 600 } },
    );
    expect(await read('haulout_maintenance_info')).toEqual([
      '{maintenance="m1",node="n1",policy="Evacuate",phase="Draining"} 1',
    ]);
    expect(await read('haulout_maintenance_pods')).toEqual([
      '{maintenance="m1",node="n1",state="gone"} 1',
      '{maintenance="m1",node="n1",state="remaining"} 2',
      '{maintenance="m1",node="n1",state="terminating"} 1',
    ]);
    expect(await read('haulout_maintenance_deadline_timestamp_seconds')).toEqual([
      `${ofM1} ${seconds + 560}`,
    ]);
    expect(await read('haulout_maintenance_timeout_seconds')).toEqual([`${ofM1} 600`]);
  });

  test('progress is a pod that begins to leave or has left, and nothing else', async () => {
    const { read, write, later } = setup();
    const name = 'haulout_maintenance_last_progress_timestamp_seconds';
    const drain = { startTime: at(-500), pods };
    write(1, { drain });
    expect(await read(name)).toEqual([`${ofM1} ${seconds}`]);
    later(100);
    write(2, { drain, phase: 'Draining' });
    expect(await read(name)).toEqual([`${ofM1} ${seconds}`]);
    later(100);
    write(3, { drain: { ...drain, pods: { ...pods, terminating: 2 } } });
    expect(await read(name)).toEqual([`${ofM1} ${seconds + 200}`]);
  });

  test('tells for each cause since when it blocks', async () => {
    const { read, write } = setup();
    const blockers = [blocker('EmptyDir', 30), blocker('EmptyDir', 20), blocker('UnmanagedPod', 50)];
    write(1, { drain: { startTime: at(0) }, blockers });
    expect(await read('haulout_maintenance_blocked_since_timestamp_seconds')).toEqual([
      `{maintenance="m1",node="n1",cause="EmptyDir"} ${seconds + 20}`,
      `{maintenance="m1",node="n1",cause="UnmanagedPod"} ${seconds + 50}`,
    ]);
  });
});

test.each([
  ['suspended', { activeSeconds: 50 }],
  ['complete', { startTime: at(0), completionTime: at(10) }],
  [
    'given up',
    { startTime: at(0), failure: { time: at(10), reason: 'DeadlineExceeded', message: '', specHash: '' } },
  ],
])('a drain that is %s has no deadline, and cannot be stuck', async (_, drain) => {
  const { read, write } = setup();
  write(1, { drain: { startTime: at(0) } }, { drain: { timeoutSeconds: 600 } });
  expect(await read('haulout_maintenance_deadline_timestamp_seconds')).toHaveLength(1);
  write(2, { drain }, { drain: { timeoutSeconds: 600 } });
  for (const name of ['deadline_timestamp', 'timeout', 'last_progress_timestamp'])
    expect(await read(`haulout_maintenance_${name}_seconds`)).toEqual([]);
});

test('what is gone leaves no series behind', async () => {
  const { read, write, maintenances } = setup();
  write(1, { drain: { startTime: at(0), pods } });
  maintenances.remove(maintenance());
  for (const name of ['info', 'pods', 'last_progress_timestamp_seconds'])
    expect(await read(`haulout_maintenance_${name}`)).toEqual([]);
});

test('a node with marks of ours counts as held for nobody until it has a maintenance, or the marks are off', async () => {
  const { read, write, nodes } = setup();
  const name = 'haulout_node_held_without_maintenance';
  const marked = node({ annotations: { [maintenanceAnnotation]: '{}' } });
  nodes.put(node({}, 'n2'));
  nodes.put(marked);
  expect(await read(name)).toEqual(['{node="n1"} 1']);
  write(1, {});
  expect(await read(name)).toEqual([]);
});
