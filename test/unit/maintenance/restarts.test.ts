import { describe, expect, test } from '@jest/globals';
import type { Refusal } from '../../../src/kube/answer.ts';
import type { RestartNote } from '../../../src/maintenance/restarts.ts';
import { at, budget, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

type Drain = NonNullable<NonNullable<Parameters<Stage['create']>[0]>['drain']>;

const hopeless = budget('web', { needs: 1, expected: 1, minAvailable: 1 });
const restart: Drain = { blockedDeployments: 'Restart' };

function blocked(drain: Drain = restart): Stage {
  const stage = Object.assign(new Stage().create({ drain }), { pods: [pod('a')], budgets: [hopeless] });
  stage.settle();
  return stage;
}

function note(stage: Stage, changes: Partial<RestartNote>): void {
  const known: RestartNote = { state: 'no', words: 'said', lookAt: stage.monotonic + 20_000, refusals: 0 };
  stage.notes = { ...stage.notes, restarts: new Map([['uid-web', { ...known, ...changes }]]) };
}

function nextStep(stage: Stage): string | undefined {
  return stage.status().blockers?.[0]?.nextStep;
}

describe('looks', () => {
  test('once for the Deployment, on behalf of the maintenance', () => {
    const stage = blocked();
    stage.pods = [pod('a'), pod('b')];
    const { restarts } = stage.settle();
    expect(restarts.looks).toMatchObject([
      {
        namespace: 'shop',
        replicaSet: { name: 'web', uid: 'uid-web' },
        maintenance: { metadata: { uid: 'uid-m1' } },
        maintenances: new Set(['uid-m1']),
        retryIntervalMs: 20_000,
      },
    ]);
    expect([...restarts.keep]).toEqual(['uid-web']);
  });

  test('again when it is due, and not while one is under way', () => {
    const stage = blocked();
    note(stage, { lookAt: undefined });
    expect(stage.settle().restarts.looks).toEqual([]);
    note(stage, {});
    expect(stage.settle()).toMatchObject({ restarts: { looks: [] }, wakeAfterMs: 20_000 });
    note(stage, { lookAt: stage.monotonic });
    expect(stage.settle().restarts.looks).toHaveLength(1);
  });

  test.each<[string, (stage: Stage) => void]>([
    ['by default', (stage) => stage.edit({ drain: { blockedDeployments: 'Wait' } })],
    ['of a pod that nothing holds up', (stage) => Object.assign(stage, { budgets: [] })],
    ['while suspended', (stage) => stage.edit({ suspend: true })],
    [
      'of a pod that Block holds',
      (stage) => stage.edit({ drain: { podSelector: { matchLabels: { x: 'y' } } } }),
    ],
  ])('none %s', (_, change) => {
    const stage = blocked();
    change(stage);
    expect(stage.settle().restarts.looks).toEqual([]);
  });

  test('none of a pod that a webhook refused', () => {
    const stage = blocked();
    const refusal: Refusal = { kind: 'admission', message: 'it migrates' };
    stage.drain.attempts.set('uid-a', { refusal, at: 0, notBefore: undefined, uncertain: false });
    expect(stage.settle().restarts.looks).toEqual([]);
  });

  test('none without the consent of every maintenance that evacuates the node', () => {
    const stage = blocked();
    stage.create({ suspend: true }, 'm2');
    expect(stage.settle().restarts.looks).toEqual([]);
    expect(nextStep(stage)).toContain('not restarted: maintenance m2 does not ask for it');
    stage.edit({ drain: restart }, 'm2');
    expect(stage.settle().restarts.looks).toMatchObject([{ maintenances: new Set(['uid-m1', 'uid-m2']) }]);
  });

  test('none of what is no Deployment, and the blocker says so', () => {
    const stage = blocked();
    stage.pods = [pod('a', { owner: { kind: 'StatefulSet', name: 'db' } })];
    expect(stage.settle().restarts.looks).toEqual([]);
    expect(nextStep(stage)).toBe(
      'evicted as soon as the budget allows it; not restarted: it belongs to StatefulSet db, not to a Deployment',
    );
  });
});

describe('words', () => {
  test('the reason why not is added to what happens otherwise', () => {
    const stage = blocked({ ...restart, deleteBlockedAfterSeconds: 600 });
    note(stage, { words: 'not restarted: a rollout is running' });
    stage.settle();
    expect(nextStep(stage)).toBe(
      `deleted at ${at(600)} (deleteBlockedAfterSeconds); not restarted: a rollout is running`,
    );
  });

  test('a restart takes the place of advice', () => {
    const stage = blocked();
    note(stage, { state: 'rolling', words: 'leaves with the rolling restart of Deployment shop/web' });
    stage.seconds = 60;
    stage.settle();
    expect(stage.status().blockers).toMatchObject([
      { cause: 'PodDisruptionBudget', nextStep: 'leaves with the rolling restart of Deployment shop/web' },
    ]);
  });
});

describe('while the rollout goes on', () => {
  const open = budget('web', { needs: 1, allowed: 1, expected: 2, resourceVersion: '101' });

  test.each<[Partial<RestartNote>, number]>([
    [{ state: 'rolling' }, 0],
    [{ state: 'confirming', lookAt: undefined }, 0],
    [{ state: 'unknown', lookAt: undefined }, 0],
    [{ state: 'settling' }, 1],
    [{ state: 'no' }, 1],
  ])('a budget that has room for the old pod lets it go or not: %j', (known, posts) => {
    const stage = blocked();
    note(stage, known);
    stage.budgets = [open];
    const work = stage.settle();
    expect(work.posts).toHaveLength(posts);
    expect(work.mayLeave.has('uid-a')).toBe(posts > 0);
  });

  test('a process that has just started looks first at what was held up before', () => {
    const stage = blocked();
    stage.budgets = [open];
    stage.pods = stage.restart();
    const work = stage.settle();
    expect(work.posts).toEqual([]);
    expect(work.restarts.looks).toHaveLength(1);
  });

  test('a pod that was never held up is evicted without a look', () => {
    const stage = Object.assign(new Stage().create({ drain: restart }), {
      pods: [pod('a')],
      budgets: [open],
    });
    const work = stage.settle();
    expect(work.posts).toHaveLength(1);
    expect(work.restarts.looks).toEqual([]);
  });

  test('an unsatisfiable budget is no reason to give up or to delete', () => {
    for (const unsatisfiableBudgets of ['Fail', 'Delete'] as const) {
      const stage = blocked({ ...restart, unsatisfiableBudgets });
      note(stage, { state: 'rolling' });
      const refusal: Refusal = { kind: 'budget', message: 'no', budget: 'web', needs: 1, has: 1 };
      stage.drain.attempts.set('uid-a', { refusal, at: 0, notBefore: undefined, uncertain: false });
      stage.seconds = 61;
      expect(stage.settle().deletions).toEqual([]);
      expect(stage.status().phase).toBe('Draining');
    }
  });

  test('a deadline is kept nevertheless', () => {
    const stage = blocked({ ...restart, timeoutSeconds: 30, onTimeout: 'Delete' });
    note(stage, { state: 'rolling' });
    stage.seconds = 30;
    expect(stage.settle().posts).toMatchObject([{ probe: true }]);
  });

  test('the note is kept as long as pods of the ReplicaSet are here', () => {
    const stage = blocked();
    note(stage, { state: 'rolling' });
    stage.pods = [pod('a', { deletionTimestamp: at(30) })];
    expect([...stage.settle().restarts.keep]).toEqual(['uid-web']);
    stage.pods = [];
    expect([...stage.settle().restarts.keep]).toEqual([]);
  });
});
