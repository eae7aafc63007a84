import { describe, expect, test } from '@jest/globals';
import type { Answer, Refusal } from '../../../src/kube/answer.ts';
import { Memory } from '../../../src/maintenance/memory.ts';
import { DeploymentRestarter } from '../../../src/maintenance/restarter.ts';
import type { RestartLook } from '../../../src/maintenance/restarts.ts';
import type { EventNote } from '../../../src/maintenance/snapshot.ts';
import type { Logger } from '../../../src/runtime/logger.ts';
import { type DeploymentOptions, claim, deploymentOf, replicaSetOf } from '../../fixtures/deployments.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';
import { maintenance } from '../../fixtures/objects.ts';
import { ScriptedClient } from '../../fixtures/scripted-client.ts';

const path = '/apis/apps/v1/namespaces/shop/deployments/web';
const conflict: Refusal = { kind: 'conflict', message: 'the object has been modified' };

/** Node n1 whose pods of ReplicaSet web are held up; what the API server holds are the public fields. */
class Bench {
  readonly clock = new FakeClock();
  readonly memory = new Memory();
  readonly events: EventNote[] = [];
  readonly logged: string[] = [];
  readonly existing = new Set(['uid-m1']);
  restarts = 0;
  deployment: DeploymentOptions = {};
  replicaSet = replicaSetOf();
  /** Instead of what would be answered, by verb or path. */
  readonly refusals = new Map<string, Refusal>();
  onPatch: () => void = () => {};
  readonly client = new ScriptedClient((request): Answer => {
    const refusal = this.refusals.get(request.verb) ?? this.refusals.get(request.path);
    if (refusal) return refusal;
    if (request.verb === 'patch') this.onPatch();
    if (request.path.includes('/replicasets/')) return { kind: 'ok', object: this.replicaSet };
    if (request.path.includes('/persistentvolumeclaims/'))
      return { kind: 'ok', object: claim('data', ['ReadWriteOnce']) };
    return { kind: 'ok', object: deploymentOf(this.deployment) };
  });
  readonly #restarter: DeploymentRestarter;

  constructor() {
    const log = (message: string) => this.logged.push(message);
    const logger: Logger = { debug: log, info: log, warn: log, error: log, child: () => logger };
    this.#restarter = new DeploymentRestarter({
      client: this.client,
      clock: this.clock,
      memory: this.memory,
      logger,
      maintenanceExists: (uid) => this.existing.has(uid),
      emit: (event) => this.events.push(event),
      onRestarted: () => this.restarts++,
      wakeNode: () => {},
    });
  }

  get note() {
    return this.memory.of('n1').restarts.get('uid-web');
  }

  /** One plan after which a look is due. */
  async look(): Promise<void> {
    this.begin();
    await this.#restarter.idle();
  }

  begin(): void {
    const look: RestartLook = {
      namespace: 'shop',
      replicaSet: { name: 'web', uid: 'uid-web' },
      maintenance: maintenance(),
      maintenances: new Set(['uid-m1']),
      retryIntervalMs: 20_000,
    };
    this.#restarter.start('n1', { looks: [look], keep: new Set(['uid-web']) }, AbortSignal.timeout(60_000));
  }

  /** A plan in which nothing is held up any more. */
  letGo(): void {
    this.#restarter.start('n1', { looks: [], keep: new Set() }, AbortSignal.timeout(60_000));
  }

  async idle(): Promise<void> {
    await this.#restarter.idle();
  }

  get patches() {
    return this.client.requests.filter(({ verb }) => verb === 'patch');
  }
}

describe('a restart', () => {
  test('comes at the second look, with the version that was read as precondition', async () => {
    const bench = new Bench();
    await bench.look();
    expect(bench.note).toMatchObject({ state: 'settling', lookAt: 5_000 });
    expect(bench.patches).toEqual([]);
    await bench.look();
    expect(bench.patches).toMatchObject([
      {
        path,
        body: {
          metadata: { resourceVersion: '30' },
          spec: { template: { metadata: { annotations: { 'haulout.dev/restarted-for': 'uid-m1' } } } },
        },
      },
    ]);
    expect(bench.note).toMatchObject({
      state: 'rolling',
      words: 'leaves with the rolling restart of Deployment shop/web',
    });
    expect(bench.events).toMatchObject([{ type: 'Normal', reason: 'DeploymentRestarted' }]);
    expect(bench.restarts).toBe(1);
    expect(bench.logged).toEqual(['deployment restarted']);
  });

  test('keeps the names of maintenances that still exist, and forgets the others', async () => {
    const bench = new Bench();
    bench.existing.add('uid-m2');
    const annotations = { 'haulout.dev/restarted-for': 'uid-m0,uid-m2' };
    bench.deployment = { spec: { template: { metadata: { annotations } } } };
    await bench.look();
    await bench.look();
    expect(bench.patches[0]?.body).toMatchObject({
      spec: { template: { metadata: { annotations: { 'haulout.dev/restarted-for': 'uid-m2,uid-m1' } } } },
    });
  });

  test('is not repeated when somebody takes the annotation off again', async () => {
    const bench = new Bench();
    for (let look = 0; look < 5; look++) await bench.look();
    expect(bench.patches).toHaveLength(1);
    expect(bench.note).toMatchObject({
      state: 'no',
      words: expect.stringContaining('somebody undid the restart'),
    });
  });

  test('reads again after a conflict', async () => {
    const bench = new Bench();
    await bench.look();
    bench.refusals.set('patch', conflict);
    await bench.look();
    expect(bench.note).toMatchObject({ state: 'settling', lookAt: 1_000 });
    bench.refusals.clear();
    bench.deployment = { spec: { paused: true } };
    await bench.look();
    expect(bench.note?.words).toBe('not restarted: the Deployment is paused');
    expect(bench.events).toEqual([]);
  });

  test('does not come if the pod was let go while the Deployment was read', async () => {
    const bench = new Bench();
    await bench.look();
    bench.begin();
    bench.letGo();
    await bench.idle();
    expect(bench.patches).toEqual([]);
    expect(bench.note).toBeUndefined();
  });

  test('counts although the pod was let go while it was written', async () => {
    const bench = new Bench();
    await bench.look();
    bench.onPatch = () => bench.letGo();
    await bench.look();
    expect(bench.note?.state).toBe('rolling');
  });

  test('waits anew after an interruption', async () => {
    const bench = new Bench();
    await bench.look();
    bench.letGo();
    await bench.look();
    expect(bench.patches).toEqual([]);
    expect(bench.note?.state).toBe('settling');
  });
});

describe('no restart', () => {
  test('is looked at again, more and more rarely', async () => {
    const bench = new Bench();
    bench.deployment = { spec: { paused: true } };
    const waits: (number | undefined)[] = [];
    for (let look = 0; look < 5; look++) {
      await bench.look();
      waits.push(bench.note?.lookAt);
    }
    expect(waits).toEqual([20_000, 40_000, 80_000, 120_000, 120_000]);
  });

  test('with claims that one node at a time may have', async () => {
    const bench = new Bench();
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    bench.deployment = { spec: { template: { spec: { volumes } } } };
    await bench.look();
    expect(bench.note?.words).toBe('not restarted: claim data is ReadWriteOnce');
    expect(bench.client.requests.map(({ path: of }) => of)).toContain(
      '/api/v1/namespaces/shop/persistentvolumeclaims/data',
    );
  });

  test.each<[string, (bench: Bench) => void, string]>([
    [
      'its ReplicaSet is another one',
      (bench) => {
        const { metadata } = bench.replicaSet;
        bench.replicaSet = { metadata: { ...metadata, uid: 'uid-other' } };
      },
      'its ReplicaSet does not exist any more',
    ],
    [
      'its ReplicaSet is nobody’s',
      (bench) => {
        const { metadata } = bench.replicaSet;
        bench.replicaSet = { metadata: { ...metadata, ownerReferences: [] } };
      },
      'its ReplicaSet belongs to no Deployment',
    ],
    [
      'it is gone',
      (bench) => bench.refusals.set(path, { kind: 'notFound', message: 'not found' }),
      'its Deployment does not exist any more',
    ],
    [
      'it may not be read',
      (bench) => bench.refusals.set('get', { kind: 'forbidden', message: 'cannot get' }),
      'the API server says: cannot get',
    ],
  ])('where %s', async (_, change, why) => {
    const bench = new Bench();
    change(bench);
    await bench.look();
    expect(bench.note).toMatchObject({ state: 'no', words: `not restarted: ${why}` });
  });

  test('where it may not be written, with the words of the API server', async () => {
    const bench = new Bench();
    await bench.look();
    bench.refusals.set('patch', { kind: 'forbidden', message: 'cannot patch' });
    await bench.look();
    expect(bench.note).toMatchObject({
      state: 'no',
      words:
        'not restarted: the API server says: cannot patch; set allowDeploymentRestart: true in the values of the chart',
    });
    expect(bench.logged).toEqual(['deployment not restarted']);
  });
});

test('an answer that is lost is looked for, and the pod is withheld meanwhile', async () => {
  const bench = new Bench();
  await bench.look();
  bench.refusals.set('patch', { kind: 'network', message: 'reset' });
  await bench.look();
  expect(bench.note).toMatchObject({ state: 'unknown', lookAt: 5_000 });
  bench.refusals.clear();
  const annotations = { 'haulout.dev/restarted-for': 'uid-m1' };
  bench.deployment = { spec: { template: { metadata: { annotations } } }, status: { observedGeneration: 1 } };
  await bench.look();
  expect(bench.note?.state).toBe('rolling');
  expect(bench.patches).toHaveLength(1);
});
