/**
 * The choice of pods is that of `kubectl drain --force --delete-emptydir-data --ignore-daemonsets`, on random sets of
 * pods, except for what is listed in `isIntendedDifference`.
 */
import { expect, test } from '@jest/globals';
import type { OwnerReference, Pod } from '../../src/kube/types.ts';
import { compareText } from '../../src/runtime/compare.ts';
import { sharedTestBed } from './support/beds.ts';
import type { Manifest } from './support/builders.ts';
import type { Island } from './support/island.ts';
import { SeededRandom } from './support/random.ts';

const bed = sharedTestBed(import.meta.filename);

const PODS = 200;
const HOLD = 'test.haulout.dev/hold';
const MIRROR = 'kubernetes.io/config.mirror';

type Phase = 'Running' | 'Pending' | 'Succeeded' | 'Failed';
type Owner = 'none' | 'DaemonSet' | 'ReplicaSet' | 'StatefulSet' | 'Job' | 'ConfigMap' | 'not a controller';

interface Kind {
  readonly owner: Owner;
  readonly phase: Phase;
  readonly isMirror: boolean;
  readonly hasEmptyDir: boolean;
  readonly isTerminating: boolean;
}

/** Finished pods of DaemonSets are left alone: the DaemonSet controller replaces them, and they hold nothing up. */
function isIntendedDifference({ owner, phase, isMirror }: Kind): boolean {
  return owner === 'DaemonSet' && !isMirror && isFinished({ phase });
}

function isFinished({ phase }: Pick<Kind, 'phase'>): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

async function finish(path: string, name: string, { phase }: Kind): Promise<void> {
  await bed.api.strategicPatch(`${path}/${name}/status`, { status: { phase } });
}

const nameOf = ({ metadata }: Pod): string => metadata.name;

/** Controllers neither adopt nor replace pods of an object that is being deleted, and kubectl still finds it. */
async function frozenOwners(island: Island): Promise<ReadonlyMap<Owner, OwnerReference>> {
  const { namespace } = island;
  const nowhere = { nodeSelector: { 'test.haulout.dev/no': 'where' }, replicas: 0 };
  const job = island.job('frozen', nowhere);
  const statefulSet = island.statefulSet('frozen', nowhere);
  const daemonSet = island.daemonSet('frozen', nowhere);
  const template = (statefulSet.spec as { template: object }).template;
  const manifests: readonly Manifest[] = [
    daemonSet,
    statefulSet,
    { ...job, spec: { ...(job.spec as object), completions: 1, parallelism: 1, suspend: true } },
    {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'frozen', namespace },
      spec: { replicas: 0, selector: { matchLabels: { app: 'frozen' } }, template },
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'frozen', namespace } },
  ];
  const held = manifests.map(({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, finalizers: [HOLD] },
  }));
  await bed.kubectl.apply(...held);
  const plurals = ['daemonset', 'statefulset', 'job', 'replicaset', 'configmap'];
  await bed.kubectl.run([
    'delete',
    ...plurals.map((plural) => `${plural}/frozen`),
    `--namespace=${namespace}`,
    '--wait=false',
  ]);
  const list = JSON.parse(
    await bed.kubectl.run(['get', plurals.join(','), `--namespace=${namespace}`, '--output=json']),
  ) as { items: { apiVersion: string; kind: Owner; metadata: { name: string; uid: string } }[] };
  const frozen = list.items.filter(({ metadata }) => metadata.name === 'frozen');
  return new Map(
    frozen.map(({ apiVersion, kind, metadata }) => [
      kind,
      { apiVersion, kind, name: 'frozen', uid: metadata.uid, controller: true },
    ]),
  );
}

function anyKind(random: SeededRandom): Kind {
  const chance = (percent: number): boolean => random.between(1, 100) <= percent;
  return {
    owner: random.pick([
      'none',
      'DaemonSet',
      'ReplicaSet',
      'StatefulSet',
      'Job',
      'ConfigMap',
      'not a controller',
    ]),
    phase: random.pick(['Running', 'Running', 'Running', 'Pending', 'Succeeded', 'Failed']),
    isMirror: chance(10),
    hasEmptyDir: chance(30),
    isTerminating: chance(10),
  };
}

function manifest(
  island: Island,
  name: string,
  kind: Kind,
  owners: ReadonlyMap<Owner, OwnerReference>,
): Manifest {
  const { owner, phase, isMirror, hasEmptyDir, isTerminating } = kind;
  const reference = owner === 'not a controller' ? owners.get('ConfigMap') : owners.get(owner);
  const pod = island.barePod(name, {
    emptyDir: hasEmptyDir,
    annotations: {
      ...(isMirror ? { [MIRROR]: 'hash' } : {}),
      ...(phase === 'Pending' ? { 'pod-ready.stage.kwok.x-k8s.io/delay': '1h' } : {}),
    },
    ...(isTerminating ? { finalizers: [HOLD] } : {}),
    spec: { nodeName: island.node, restartPolicy: 'Never' },
  });
  if (reference === undefined) return pod;
  const ownerReferences = [{ ...reference, controller: owner !== 'not a controller' }];
  return { ...pod, metadata: { ...pod.metadata, ownerReferences } };
}

async function makePods(island: Island, random: SeededRandom): Promise<ReadonlyMap<string, Kind>> {
  const owners = await frozenOwners(island);
  expect(owners.size).toBe(5);
  const kinds = new Map(Array.from({ length: PODS }, (_, index) => [`pod-${index}`, anyKind(random)]));
  const path = `/api/v1/namespaces/${island.namespace}/pods`;
  await Promise.all(
    [...kinds].map(async ([name, kind]) => {
      await bed.api.create(path, manifest(island, name, kind, owners));
      if (kind.phase !== 'Pending')
        await bed.eventually(`${name} runs`, async () => {
          return (await bed.api.get<Pod>(`${path}/${name}`)).status?.phase === 'Running';
        });
      if (isFinished(kind)) await finish(path, name, kind);
      if (kind.isTerminating) await bed.api.remove(`${path}/${name}`);
    }),
  );
  await bed.eventually('all are as they should be', async () => {
    const pods = await bed.api.pods(island.namespace);
    // kwok now and then starts a pod a second time, on what it has seen of it before it ended.
    for (const { metadata, status } of pods) {
      const kind = kinds.get(metadata.name);
      if (kind && isFinished(kind) && status?.phase === 'Running') await finish(path, metadata.name, kind);
    }
    const are = pods.map(({ metadata, status }) => ({
      name: metadata.name,
      phase: status?.phase,
      isTerminating: metadata.deletionTimestamp !== undefined,
      owners: metadata.ownerReferences?.length ?? 0,
    }));
    const shouldBe = [...kinds].map(([name, { phase, isTerminating, owner }]) => {
      return { name, phase, isTerminating, owners: owner === 'none' ? 0 : 1 };
    });
    expect(are).toEqual(shouldBe.toSorted((a, b) => compareText(a.name, b.name)));
    return true;
  });
  return kinds;
}

/** What kubectl would evict, by name. */
async function choiceOfKubectl(island: Island): Promise<Set<string>> {
  const output = await bed.kubectl.run([
    'drain',
    island.node,
    '--force',
    '--delete-emptydir-data',
    '--ignore-daemonsets',
    '--dry-run=client',
  ]);
  const names = [...output.matchAll(/^evicting pod (\S+)\/(\S+)/gm)].map(([, namespace, name]) => {
    expect(namespace).toBe(island.namespace);
    return name ?? '';
  });
  expect(new Set(names).size).toBe(names.length);
  return new Set(names);
}

test.concurrent.each(['first', 'second'])(
  'a %s random set of 200 pods: the same ones leave',
  async (which) => {
    const island = await bed.island(which, { spares: 0 });
    const { node, namespace } = island;
    const random = SeededRandom.forTest(`kubectl-parity, ${which} set`);
    const kinds = await makePods(island, random);
    const theirs = await choiceOfKubectl(island);
    const present = new Set((await bed.api.pods(namespace)).map(nameOf));
    expect(present.size).toBe(PODS);
    // A random set that misses what matters would prove nothing.
    expect(theirs.size).toBeGreaterThan(PODS / 3);
    expect(PODS - theirs.size).toBeGreaterThan(PODS / 20);

    await bed.maintain(node, { drain: { unmanagedPods: 'Evict' } });
    const terminating = [...kinds].filter(([, kind]) => kind.isTerminating).map(([name]) => name);
    const wanted = [...theirs].filter((name) => !isIntendedDifference(kinds.get(name)!)).toSorted();
    // Pods that are terminating already have to leave like the others, but are not evicted again: they are waited for.
    const waitedFor = wanted.filter((name) => terminating.includes(name));
    const settled = await bed.until(
      node,
      'only those are left that cannot end',
      ({ status }) => status?.drain?.pods?.remaining === waitedFor.length,
    );
    expect(settled.status?.drain?.pods).toMatchObject({
      total: wanted.length,
      gone: wanted.length - waitedFor.length,
      terminating: waitedFor.length,
      ignored: PODS - wanted.length,
    });
    const evicted = bed.audit.accepted(namespace).map(({ pod }) => pod);
    expect(evicted.toSorted()).toEqual(wanted.filter((name) => !waitedFor.includes(name)));
    expect(bed.audit.evictions(namespace)).toHaveLength(evicted.length);
    const left = (await bed.api.pods(namespace)).map(nameOf);
    const stays = [...present].filter((name) => !evicted.includes(name));
    expect(left.toSorted()).toEqual(stays.toSorted());
  },
);
