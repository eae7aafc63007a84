/** What the operator is killed in the middle of. */
import { nodeMaintenancePath } from '../../../src/api/names.ts';
import type { NodeMaintenanceSpec } from '../../../src/api/types.generated.ts';
import type { Manifest } from '../../e2e/support/builders.ts';
import type { Island } from '../../e2e/support/island.ts';
import { said } from '../../e2e/support/status.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';

export interface Scenario {
  readonly name: string;
  /** Made before any write is counted. */
  readonly prepare: (bed: TestBed, island: Island) => Promise<unknown>;
  /** What a user does, up to its end. */
  readonly play: (bed: TestBed, island: Island) => Promise<unknown>;
}

type Spec = Omit<NodeMaintenanceSpec, 'nodeName'>;

/** A kill costs a start, and on a busy machine more. */
const patient = { timeoutMs: 120_000 };
const quick = { stopsIn: '0s' };
const taint = { key: 'example.com/out', effect: 'NoSchedule' } as const;

const maintain = async (bed: TestBed, node: string, spec: Spec, name = node): Promise<unknown> =>
  bed.maintain(node, { ...spec, drain: { retryIntervalSeconds: 1, ...spec.drain } }, name);

const untilReady = async (bed: TestBed, name: string, reason: string): Promise<unknown> =>
  bed.untilSaid(name, 'Ready', `True/${reason}`, patient);

async function end(bed: TestBed, name: string): Promise<void> {
  await bed.api.remove(nodeMaintenancePath(name));
  await bed.eventually(
    `${name} is gone`,
    async () => (await bed.api.find(nodeMaintenancePath(name))) === undefined,
    patient,
  );
}

const noPods = async (): Promise<void> => Promise.resolve();
const placing =
  (...workload: readonly ((island: Island) => readonly Manifest[])[]) =>
  async (bed: TestBed, island: Island): Promise<unknown> =>
    bed.place(island, ...workload.flatMap((one) => one(island)));

const free = (island: Island) => [island.deployment('free', { ...quick, replicas: 2 })];
const lane = (island: Island) => [
  island.deployment('lane', { ...quick, replicas: 2 }),
  island.budget('lane', { maxUnavailable: 1 }),
];
const agent = (island: Island) => [island.daemonSet('agent')];
const disks = (island: Island) => [
  ...island.volumes(2),
  island.statefulSet('db', { ...quick, replicas: 2, claimTemplates: [island.claimTemplate('data')] }),
];

/** Its budget lets no pod go, and its strategy brings the new pod before it takes the old one. */
function surging(island: Island): readonly Manifest[] {
  const base = island.deployment('web', quick);
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
  return [
    { ...base, spec: { ...(base.spec as object), strategy } },
    island.budget('web', { minAvailable: 1 }),
  ];
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'start',
    prepare: noPods,
    play: async (bed, { node }) => {
      await maintain(bed, node, { nodeDrainPolicy: 'NoSchedule', taints: [taint], reason: 'new disk' });
      await untilReady(bed, node, 'Cordoned');
    },
  },
  {
    name: 'drain',
    prepare: placing(free, lane, agent),
    play: async (bed, { node }) => {
      await maintain(bed, node, {});
      await untilReady(bed, node, 'Drained');
    },
  },
  {
    name: 'maintenance-deleted',
    prepare: async (bed, { node }) => {
      await maintain(bed, node, { taints: [taint] });
      await untilReady(bed, node, 'Drained');
    },
    play: async (bed, { node }) => end(bed, node),
  },
  {
    name: 'node-deleted',
    prepare: async (bed, island) => {
      await placing(free)(bed, island);
      await maintain(bed, island.node, { nodeDrainPolicy: 'NoSchedule', nodeDeletePolicy: 'Evict' });
      await untilReady(bed, island.node, 'Cordoned');
    },
    play: async (bed, { node }) => {
      await bed.kubectl.run(['delete', 'node', node, '--wait=false']);
      await bed.untilSaid(node, 'Ready', 'False/NodeGone', patient);
    },
  },
  {
    name: 'policy-changed',
    prepare: async (bed, island) => {
      await placing(free, lane)(bed, island);
      await maintain(bed, island.node, { nodeDrainPolicy: 'NoSchedule' });
      await untilReady(bed, island.node, 'Cordoned');
    },
    play: async (bed, { node }) => {
      await bed.edit(node, { nodeDrainPolicy: 'Evacuate' });
      await untilReady(bed, node, 'Drained');
      await bed.edit(node, { nodeDrainPolicy: 'Ignore' });
      await bed.until(
        node,
        'is only announced',
        (object) => {
          return (
            object.status?.observedGeneration === object.metadata.generation &&
            said(object, 'Cordoned') !== 'True/Cordoned'
          );
        },
        patient,
      );
    },
  },
  {
    name: 'two-holders',
    prepare: placing(free),
    play: async (bed, { node, name }) => {
      const [first, second] = [`${name}-first`, `${name}-second`];
      await maintain(bed, node, { nodeDrainPolicy: 'NoSchedule', taints: [taint] }, first);
      await untilReady(bed, first, 'Cordoned');
      await maintain(bed, node, {}, second);
      await untilReady(bed, second, 'Drained');
      await end(bed, first);
      await untilReady(bed, second, 'Drained');
    },
  },
  {
    name: 'deployment-restarted',
    prepare: placing(surging),
    play: async (bed, { node }) => {
      await maintain(bed, node, { drain: { blockedDeployments: 'Restart' } });
      await untilReady(bed, node, 'Drained');
    },
  },
  {
    name: 'volumes-awaited',
    prepare: placing(disks, free),
    play: async (bed, { node }) => {
      await maintain(bed, node, {});
      await untilReady(bed, node, 'Drained');
    },
  },
];
