/** How fake nodes and all that lies around them are told apart from what others have on the same cluster. */

/** `cluster`: for people, by `make cluster`. */
export type Purpose = 'cluster' | 'demo' | 'test';

/** A label of nodes and namespaces. Only nodes that have it are played, and only what has it is taken away again. */
export const MADE_FOR = 'test.haulout.dev/made-for';

/** On fake nodes beside real ones: pods of others would seem to run there. */
export const FAKE_NODE_TAINT = { key: 'test.haulout.dev/fake-node', effect: 'NoSchedule' } as const;
export const FAKE_NODE_TOLERATION = { ...FAKE_NODE_TAINT, operator: 'Exists' } as const;
