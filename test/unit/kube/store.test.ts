import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keyOf, objectKey, Store } from '../../../src/kube/store.ts';
import type { FakeObject } from '../../fixtures/fake-collection.ts';

function object(
  name: string,
  version: number,
  options: { uid?: string; node?: string; value?: number } = {},
): FakeObject {
  return {
    metadata: {
      name,
      namespace: 'ns',
      uid: options.uid ?? `uid-${name}`,
      resourceVersion: String(version),
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {
      value: options.value ?? version,
      ...(options.node === undefined ? {} : { nodeName: options.node }),
    },
  };
}

function show(each: FakeObject | undefined): string {
  return each === undefined ? '-' : `${each.metadata.uid}@${each.metadata.resourceVersion}`;
}

function storeWithLog() {
  let failed = 0;
  const store = new Store<FakeObject>({ onListenerError: () => (failed += 1) }).index(
    'node',
    (pod) => pod.spec.nodeName,
  );
  const log: string[] = [];
  store.onChange((old, now) => {
    log.push(`${show(old)} > ${show(now)}`);
  });
  return { store, log, failed: () => failed };
}

describe('Store', () => {
  test('puts, updates and removes', () => {
    const { store, log } = storeWithLog();
    store.put(object('a', 1));
    store.put(object('a', 2));
    store.remove(object('a', 3));
    store.remove(object('a', 3));
    expect(log).toEqual(['- > uid-a@1', 'uid-a@1 > uid-a@2', 'uid-a@2 > -']);
    expect(store.size).toBe(0);
  });

  test('keys cluster-scoped objects by name', () => {
    expect(objectKey(undefined, 'n')).toBe('n');
    expect(objectKey('', 'n')).toBe('n');
    expect(keyOf(object('a', 1))).toBe('ns/a');
  });

  test('an event that is not newer changes nothing', () => {
    const { store, log } = storeWithLog();
    store.put(object('a', 10));
    store.put(object('a', 9));
    store.put(object('a', 10));
    expect(log).toHaveLength(1);
  });

  test('our own write is seen at once and survives older events', () => {
    const { store, log } = storeWithLog();
    store.put(object('a', 1));
    store.observe(object('a', 5));
    store.put(object('a', 3));
    store.put(object('a', 5));
    store.put(object('a', 6));
    expect(log).toEqual(['- > uid-a@1', 'uid-a@1 > uid-a@5', 'uid-a@5 > uid-a@6']);
  });

  test('our own write of an object that is absent, replaced or newer changes nothing', () => {
    const { store, log } = storeWithLog();
    store.observe(object('a', 5));
    store.put(object('a', 10, { uid: 'second' }));
    store.observe(object('a', 20, { uid: 'first' }));
    store.observe(object('a', 9, { uid: 'second' }));
    expect(log).toEqual(['- > second@10']);
  });

  test('a successor of the same name is the end of one and the start of another', () => {
    const { store, log } = storeWithLog();
    store.put(object('a', 1, { uid: 'first' }));
    store.put(object('a', 5, { uid: 'second' }));
    store.remove(object('a', 4, { uid: 'first' }));
    expect(log).toEqual(['- > first@1', 'first@1 > -', '- > second@5']);
  });

  test('a list brings missed deletions, changes and nothing for the rest', () => {
    const { store, log } = storeWithLog();
    for (const name of ['a', 'b', 'c']) {
      store.put(object(name, 1));
    }
    log.length = 0;
    store.beginList();
    store.replace([object('a', 1), object('c', 9), object('d', 8)]);
    expect(log).toEqual(['uid-b@1 > -', 'uid-c@1 > uid-c@9', '- > uid-d@8']);
  });

  test('a list does not undo what we wrote while it was on its way', () => {
    const { store, log } = storeWithLog();
    store.put(object('a', 1));
    store.beginList();
    store.observe(object('a', 7));
    store.replace([object('a', 3)]);
    expect(store.get('ns/a')?.metadata.resourceVersion).toBe('7');
    expect(log).toHaveLength(2);
  });

  test('a list from a restored backup is older, and right', () => {
    const { store } = storeWithLog();
    store.put(object('a', 100));
    store.observe(object('a', 120));
    store.beginList();
    store.replace([object('a', 30)]);
    expect(store.get('ns/a')?.metadata.resourceVersion).toBe('30');
    store.put(object('a', 31));
    expect(store.get('ns/a')?.metadata.resourceVersion).toBe('31');
  });

  test('trims what comes in, however it comes', () => {
    const store = new Store<FakeObject>({ trim: (each) => ({ ...each, spec: { value: -each.spec.value } }) });
    store.put(object('a', 1));
    store.observe(object('a', 2));
    expect(store.get('ns/a')?.spec).toEqual({ value: -2 });
    expect(store.trim(object('a', 3)).spec).toEqual({ value: -3 });
  });

  test('a listener that throws stops neither the others nor the store', () => {
    let failures = 0;
    const store = new Store<FakeObject>({ onListenerError: () => (failures += 1) });
    let calls = 0;
    store.onChange(() => {
      throw new Error('no');
    });
    const cancel = store.onChange(() => (calls += 1));
    store.put(object('a', 1));
    cancel();
    store.put(object('a', 2));
    expect({ failures, calls, size: store.size }).toEqual({ failures: 2, calls: 1, size: 1 });
  });

  test('an index is filled from what is there, and must be defined once', () => {
    const store = new Store<FakeObject>();
    store.put(object('a', 1, { node: 'n' }));
    store.index('node', (pod) => pod.spec.nodeName);
    store.index('many', (pod) => [pod.metadata.name, 'all']);
    expect(store.byIndex('node', 'n')).toHaveLength(1);
    expect(store.byIndex('many', 'all')).toHaveLength(1);
    expect(() => store.index('node', () => 'x')).toThrow('already defined');
    expect(() => store.byIndex('none', 'x')).toThrow('not defined');
  });

  test('indices equal a search, whatever happened', () => {
    const nodes = ['n1', 'n2', undefined] as const;
    const change = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      uid: fc.constantFrom('1', '2'),
      version: fc.nat({ max: 30 }),
      node: fc.constantFrom(...nodes),
      how: fc.constantFrom('put', 'remove', 'observe', 'replace'),
    });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const { store, failed } = storeWithLog();
        const replayed = new Map<string, FakeObject>();
        store.onChange((old, now) => {
          const key = keyOf((old ?? now) as FakeObject);
          expect(replayed.get(key)).toBe(old);
          if (now === undefined) {
            replayed.delete(key);
          } else {
            replayed.set(key, now);
          }
        });
        for (const { name, uid, version, node, how } of changes) {
          const each = object(name, version, { uid, ...(node === undefined ? {} : { node }) });
          if (how === 'replace') {
            store.beginList();
            store.replace([each]);
          } else {
            store[how](each);
          }
        }
        expect(failed()).toBe(0);
        expect(new Set(replayed.values())).toEqual(new Set(store.values()));
        for (const node of ['n1', 'n2']) {
          const searched = [...store.values()].filter((pod) => pod.spec.nodeName === node);
          expect(new Set(store.byIndex('node', node))).toEqual(new Set(searched));
        }
      }),
    );
  });
});
