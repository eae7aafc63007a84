/** The CustomResourceDefinition: with the chart, without it, and from the chart that has nothing else. */
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { repositoryRoot } from '../../hack/cluster/lib/paths.ts';
import { ownTestBed } from './support/beds.ts';
import { untilServed } from './support/definitions.ts';
import { CHART, CRD, Helm, startStandIn, stopsWithDeployment } from './support/helm.ts';

const bed = ownTestBed(import.meta.filename, { nodes: 3 });

const CRDS_CHART = join(repositoryRoot, 'charts', 'haulout-crds');
const INSTALL_CRDS = ['upgrade', '--install', 'haulout-crds', CRDS_CHART];
const ELSEWHERE = { crds: { install: false } };

interface Definition {
  readonly metadata: {
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: object;
}

async function definition(): Promise<Definition> {
  return bed.api.get<Definition>(CRD);
}

/** The release that helm takes it for a part of, and the chart that it says it is from. */
async function ownerOfCrd(): Promise<string> {
  const { annotations, labels } = (await definition()).metadata;
  return `${annotations['meta.helm.sh/release-name']}, ${labels['app.kubernetes.io/name']}`;
}

async function released(helm: Helm): Promise<void> {
  const { helm: output, job } = await helm.uninstall();
  expect([output.code, job.code, job.stderr]).toEqual([0, 0, '']);
}

beforeAll(async () => {
  // What the test bed has installed: each test begins without it.
  await new Helm(bed, 'helm').run(['uninstall', 'haulout', '--wait']);
  await bed.kubectl.run(['delete', 'crd', 'nodemaintenances.haulout.dev']);
});

describe.each(['helm', 'helm3'] as const)('%s', (version) => {
  test('crds.keep=false: it goes with the release, and with it maintenances whose nodes are back', async () => {
    const helm = new Helm(bed, version);
    await helm.install({ crds: { keep: false } });
    const operator = await startStandIn(bed, `${version}-operator`);
    const island = await bed.island(version);
    await bed.place(island, island.deployment('web', { replicas: 2 }));
    const before = await bed.snapshot(island.node);
    await bed.maintain(island.node);
    await bed.untilSaid(island.node, 'Ready', 'True/Drained');

    await Promise.all([released(helm), stopsWithDeployment(bed, operator)]);
    expect(await bed.snapshot(island.node)).toEqual(before);
    expect(await bed.api.find(CRD)).toBeUndefined();
  });

  test('crds.install=false: it is left to haulout-crds, which keeps it when it is uninstalled', async () => {
    const helm = new Helm(bed, version);
    await helm.install(ELSEWHERE);
    expect(await bed.api.find(CRD)).toBeUndefined();
    await helm.run(INSTALL_CRDS);
    await untilServed(bed, 'crd/nodemaintenances.haulout.dev');
    await helm.install(ELSEWHERE);
    expect(await ownerOfCrd()).toBe('haulout-crds, haulout-crds');
    await bed.maintain('worker-1');

    await helm.run(['uninstall', 'haulout-crds', '--wait']);
    expect((await bed.maintenance('worker-1')).spec.nodeName).toBe('worker-1');
    await released(helm);
    await bed.kubectl.run(['delete', 'crd', 'nodemaintenances.haulout.dev']);
  });

  test('it moves from one chart to the other and back, and no maintenance is lost', async () => {
    const helm = new Helm(bed, version);
    await helm.install();
    const created = await definition();
    await bed.maintain('worker-2');
    const { uid } = (await bed.maintenance('worker-2')).metadata;

    await helm.install(ELSEWHERE);
    const refused = await helm.try(INSTALL_CRDS);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('invalid ownership metadata'),
    ]);
    await helm.run([...INSTALL_CRDS, '--take-ownership']);
    expect(await ownerOfCrd()).toBe('haulout-crds, haulout-crds');
    await helm.install(ELSEWHERE);
    await released(helm);
    expect((await definition()).metadata.uid).toBe(created.metadata.uid);
    expect((await bed.maintenance('worker-2')).metadata.uid).toBe(uid);

    await helm.run(['uninstall', 'haulout-crds', '--wait']);
    await helm.install({}, CHART, ['--take-ownership']);
    expect(await ownerOfCrd()).toBe('haulout, haulout');
    expect((await definition()).spec).toEqual(created.spec);
    expect((await bed.maintenance('worker-2')).metadata.uid).toBe(uid);
    await released(helm);
    await bed.kubectl.run(['delete', 'crd', 'nodemaintenances.haulout.dev']);
  });
});
