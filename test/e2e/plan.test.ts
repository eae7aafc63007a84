/** `haulout plan` tells beforehand what the operator then does, and changes nothing. */
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { repositoryRoot } from '../../hack/cluster/lib/paths.ts';
import { as } from '../../hack/cluster/lib/untyped.ts';
import type { Pod } from '../../src/kube/types.ts';
import type { Preview } from '../../src/preview/preview.ts';
import { toEviction } from './support/audit.ts';
import { sharedTestBed } from './support/beds.ts';
import { maintenance } from './support/builders.ts';
import type { Island } from './support/island.ts';
import { type Output, runProgram } from './support/kubectl.ts';

const bed = sharedTestBed(import.meta.filename);

const planner = /^haulout\/\S+ \(plan\)/;

/** With no more rights than the operator has. */
async function plan(args: readonly string[], stdin?: string): Promise<Output> {
  return runProgram(
    join(repositoryRoot, 'bin/haulout'),
    ['plan', `--kubeconfig=${bed.files.operatorKubeconfig}`, ...args],
    stdin === undefined ? {} : { stdin },
  );
}

async function planned(args: readonly string[], stdin?: string): Promise<Output & { preview: Preview }> {
  const output = await plan([...args, '-o', 'json'], stdin);
  return { ...output, preview: as<Preview>(JSON.parse(output.stdout)) };
}

const names = (pods: readonly { readonly name: string }[]) => pods.map(({ name }) => name).toSorted();
const nameOf = ({ metadata }: Pod) => metadata.name;

/** What it asked of the API server, other than to be told. */
function writesAbout(island: Island) {
  return bed.audit
    .entries({ namespace: island.namespace })
    .filter(({ verb, userAgent }) => planner.test(userAgent ?? '') && !['get', 'list'].includes(verb));
}

test.concurrent('a node from which all can leave', async () => {
  const island = await bed.island('quiet');
  const pods = await bed.place(
    island,
    island.deployment('web', { replicas: 3 }),
    island.deployment('cache', { emptyDir: true, gracePeriodSeconds: 50 }),
    island.budget('web', { minAvailable: 2 }),
    island.daemonSet('agent'),
  );
  const before = await bed.snapshot(island.node);
  const { code, preview } = await planned([island.node]);
  expect(preview).toMatchObject({
    clear: true,
    nodeName: island.node,
    counts: { leave: 4, held: 0, stay: 1 },
    obstacles: [],
    budgets: [{ name: 'web', pods: 3, disruptionsAllowed: 1, verdict: 'inTurn' }],
    room: { known: true, pods: 4, homeless: [] },
  });
  expect(code).toBe(0);
  expect(names(preview.pods)).toEqual(pods.map(nameOf).toSorted());
  expect(preview.pods.filter(({ eviction }) => eviction === 'allowed')).toHaveLength(4);

  const text = await plan([island.node]);
  expect(text).toMatchObject({ code: 0, stderr: '' });
  const [verdict] = text.stdout.split('\n');
  expect(verdict).toBe(`node ${island.node}: 4 pods leave, 1 stays; nothing stands in the way`);
  for (const { namespace, name } of preview.pods) expect(text.stdout).toContain(`${namespace}/${name}`);
  expect(text.stdout).toContain(`emptyDir data of ${island.namespace}/cache-`);
  expect(text.stdout).toContain('up to 50 s for a pod to stop');
  expect(text.stdout).toContain('lets 1 of its 3 pods go at a time: at least 3 rounds');

  expect(await bed.snapshot(island.node)).toEqual(before);
  const after = (await bed.api.podsOnNode(island.node)).filter(
    ({ metadata }) => metadata.namespace === island.namespace,
  );
  expect(after.map(({ metadata }) => metadata.uid)).toEqual(pods.map(({ metadata }) => metadata.uid));
  expect(after.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([]);
  const writes = writesAbout(island);
  expect(writes.map(toEviction).map(({ dryRun }) => dryRun)).toEqual(Array.from({ length: 8 }, () => true));
});

test.concurrent('what leaves and what is held up is what the operator lets leave and holds up', async () => {
  const island = await bed.island('same');
  await bed.place(
    island,
    island.deployment('web', { replicas: 3 }),
    island.deployment('cache', { emptyDir: true }),
    island.deployment('db', { replicas: 2 }),
    island.budget('db', { minAvailable: 2 }),
    island.daemonSet('agent'),
    island.barePod('debug'),
  );
  const manifest = maintenance(island.node, island.node, { drain: { emptyDirPods: 'Block' } });
  const { code, preview } = await planned(['-f', '-'], JSON.stringify(manifest));
  expect(code).toBe(1);
  expect(preview.maintenance).toBe(island.node);

  await bed.kubectl.apply(manifest);
  const held = await bed.until(island.node, 'only those that are held up are left', ({ status }) => {
    return status?.drain?.pods?.gone === 3 && status.blockersTotal === 4;
  });
  const inTheWay = preview.obstacles.flatMap(({ pods }) => names(pods)).toSorted();
  expect(names(held.status?.blockers?.map(({ pod }) => pod) ?? [])).toEqual(inTheWay);
  const allowed = preview.pods.filter(({ eviction }) => eviction === 'allowed');
  const evicted = bed.audit.accepted(island.namespace).map(({ pod }) => ({ name: pod }));
  expect(names(evicted)).toEqual(names(allowed));
  const [, message] = preview.obstacles
    .filter(({ cause }) => cause === 'EmptyDir' || cause === 'UnmanagedPod')
    .map(({ message: one }) => one);
  expect(held.status?.blockers?.map((blocker) => blocker.message)).toContain(message);

  // Asked again while it lasts: what the maintenance protects is held, and nobody is asked for real.
  const during = await planned([island.node]);
  expect(during.code).toBe(1);
  // Other tests' pods may wait for a node at the same time, which is noted too.
  expect(during.preview.notes).toContain(`maintenance ${island.node} is about this node too (Evacuate)`);
  expect(during.preview.obstacles.flatMap(({ pods }) => names(pods)).toSorted()).toEqual(inTheWay);
  expect(
    writesAbout(island)
      .map(toEviction)
      .map(({ dryRun }) => dryRun),
  ).not.toContain(false);
});

describe('something stands in the way', () => {
  test.concurrent('a budget that can never allow it', async () => {
    const island = await bed.island('never');
    await bed.place(
      island,
      island.deployment('db', { replicas: 2 }),
      island.budget('db', { maxUnavailable: 0 }),
    );
    const { code, stdout } = await plan([island.node]);
    expect(code).toBe(1);
    expect(stdout).toContain(
      `UnsatisfiablePodDisruptionBudget: budget ${island.namespace}/db can never allow a disruption: maxUnavailable 0 of 2 pods (as it looks now)`,
    );
  });

  test.concurrent('a budget that has no disruption left', async () => {
    const island = await bed.island('zero');
    const [pod] = await bed.place(
      island,
      island.deployment('web', { replicas: 3 }),
      island.budget('web', { minAvailable: 2 }),
    );
    await bed.api.strategicPatch(`/api/v1/namespaces/${island.namespace}/pods/${pod?.metadata.name}/status`, {
      status: { conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }] },
    });
    await bed.eventually('the budget counts it out', async () => {
      return (await bed.api.budget(island.namespace, 'web')).status?.currentHealthy === 2;
    });
    const { code, preview } = await planned([island.node]);
    expect(code).toBe(1);
    expect(preview.obstacles).toMatchObject([
      {
        cause: 'PodDisruptionBudget',
        message: `budget ${island.namespace}/web needs 2 healthy pods and has 2`,
        nextStep: 'evicted as soon as the budget allows it',
      },
    ]);
    // The one that is not ready passes such a budget.
    expect(preview.obstacles[0]?.pods).toHaveLength(2);
  });

  test.concurrent('a pod that nothing would create again, unless the manifest lets it go', async () => {
    const island = await bed.island('bare');
    await bed.place(island, island.barePod('debug'));
    const { code, stdout } = await plan([island.node]);
    expect(code).toBe(1);
    expect(stdout.split('\n')[0]).toBe(
      `node ${island.node}: 0 pods leave, 1 held, 0 stay; 1 thing stands in the way`,
    );
    expect(stdout).toContain('UnmanagedPod: nothing would create it again');
    expect(writesAbout(island)).toEqual([]);

    const manifest = maintenance('fw', island.node, { drain: { unmanagedPods: 'Evict' } });
    const lost = await plan([island.node, '-f', '-'], JSON.stringify(manifest));
    expect(lost.code).toBe(0);
    expect(lost.stdout).toContain(`pods that nothing creates again: ${island.namespace}/debug`);
  });

  test.concurrent('pods for which no other node has room', async () => {
    const island = await bed.island('full', { spares: 1 });
    const requests = { memory: '200Gi' };
    const large = { containers: [{ name: 'main', image: 'example.com/none', resources: { requests } }] };
    await bed.place(island, island.deployment('large', { spec: large }));
    expect((await plan([island.node])).code).toBe(0);

    const [spare = ''] = island.spares;
    await bed.kubectl.apply(island.barePod('filler', { spec: { ...large, nodeName: spare } }));
    await bed.eventually('the filler is there', async () => {
      return (await bed.api.podsOnNode(spare)).some((pod) => nameOf(pod) === 'filler');
    });
    const { code, preview } = await planned([island.node]);
    expect(code).toBe(1);
    expect(preview.obstacles).toMatchObject([{ cause: 'NoRoom' }]);
    expect(preview.obstacles[0]?.message).toContain('1 node: it lacks memory (200Gi asked for, 56Gi free)');
    expect(preview.obstacles[0]?.message).toContain(`it has no label test.haulout.dev/island=${island.name}`);
  });
});

describe('unusable input ends with 2 and one line', () => {
  test.concurrent('a node that is not there', async () => {
    const island = await bed.island('typo');
    const { code, stdout, stderr } = await plan([`${island.node}x`]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(`haulout: there is no node "${island.node}x": did you mean ${island.node}?\n`);
  });

  test.concurrent('a manifest about another node', async () => {
    const { code, stderr } = await plan(['b', '-f', '-'], JSON.stringify(maintenance('fw', 'a')));
    expect(code).toBe(2);
    expect(stderr).toBe(
      'haulout: standard input is about node a and not b: write haulout plan a -f -, or leave the node out\n',
    );
  });
});
