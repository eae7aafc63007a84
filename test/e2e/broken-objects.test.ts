// An object that makes a handler throw: counted, logged and tried again, and nobody else hears of it.
import { expect, test } from '@jest/globals';
import { nodeMaintenancesPath } from '../../src/api/names.ts';
import { ownTestBed } from './support/beds.ts';
import { maintenance } from './support/builders.ts';

const bed = ownTestBed(import.meta.filename);

const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemaintenances.haulout.dev';
const TAINTS = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/taints';

async function setSchema(value: unknown): Promise<unknown> {
  const before = await bed.api.get<object>(DEFINITION);
  const was: unknown = TAINTS.split('/')
    .slice(1)
    .reduce<unknown>((at, key) => Reflect.get(Object(at), key), before);
  const patch = [{ op: 'replace', path: TAINTS, value }];
  const { status } = await bed.api.request('PATCH', DEFINITION, patch, 'application/json-patch+json');
  expect(status).toBe(200);
  return was;
}

async function errors(metrics: Response | undefined): Promise<number> {
  const text = (await metrics?.text()) ?? '';
  return Number(/^haulout_reconcile_errors_total (\d+)$/m.exec(text)?.[1]);
}

test('a maintenance that another version of the CustomResourceDefinition has let pass', async () => {
  const [broken, sound] = [await bed.island('broken'), await bed.island('sound')];
  for (const island of [broken, sound]) await bed.place(island, island.deployment('web', { stopsIn: '1s' }));
  const operator = await bed.startOperator();
  const { pid } = operator;
  const before = await bed.snapshot(broken.node);

  const schema = await setSchema({ 'x-kubernetes-preserve-unknown-fields': true });
  const object = {
    ...maintenance(broken.node, broken.node),
    spec: { nodeName: broken.node, taints: [null] },
  };
  await bed.eventually('an object that nobody should be able to write is there', async () => {
    const { status, body } = await bed.api.request('POST', nodeMaintenancesPath, object);
    if (status === 409) return true;
    return status === 201 && JSON.stringify(body).includes('"taints":[null]');
  });
  await bed.eventually(
    'it has failed three times',
    async () => (await errors(await operator.http('/metrics'))) >= 3,
  );
  const failures = operator.log().filter(({ message }) => message === 'reconciling failed');
  expect(failures[0]).toMatchObject({ level: 'error', node: broken.node, error: { name: 'TypeError' } });

  // Only one node may be out of service, and the turn was the broken one's.
  await bed.maintain(sound.node);
  await bed.untilSaid(sound.node, 'Drained', 'True/Drained', { timeoutMs: 90_000 });
  expect((await operator.http('/healthz'))?.status).toBe(200);
  expect(bed.audit.accepted(broken.namespace)).toEqual([]);
  await bed.endMaintenance(sound.node);

  await bed.edit(broken.node, { taints: null });
  await setSchema(schema);
  await bed.untilSaid(broken.node, 'Drained', 'True/Drained', { timeoutMs: 60_000 });
  expect(operator.pid).toBe(pid);
  await bed.endMaintenance(broken.node);
  expect(await bed.snapshot(broken.node)).toEqual(before);
});
