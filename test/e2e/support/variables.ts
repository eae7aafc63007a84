/** The environment variables that the tests know. */

/** Set by whoever has started a cluster: its directory. `.cluster` is used, or started, where it is not set. */
export const CLUSTER_VARIABLE = 'HAULOUT_TEST_CLUSTER';
/** Set by the global set-up for the test files: the file that says where the shared cluster is. */
export const STATE_VARIABLE = 'HAULOUT_TEST_STATE';
