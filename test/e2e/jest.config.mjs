// The end-to-end tests: node --experimental-vm-modules node_modules/jest/bin/jest.js --config test/e2e/jest.config.mjs
// CLUSTER=kind and CLUSTER=current: see hack/cluster/README.md. HAULOUT_TEST_CLUSTER names the directory of the cluster (default .cluster); one that does not run is started.
/** @type {import('jest').Config} */
export default {
  rootDir: '../..',
  roots: ['<rootDir>/test/e2e'],
  testEnvironment: '<rootDir>/test/e2e/support/environment.ts',
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/jest.strip.mjs' },
  transformIgnorePatterns: ['/node_modules/'],
  injectGlobals: false,
  watchman: false,
  globalSetup: '<rootDir>/test/e2e/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/e2e/support/global-teardown.ts',
  // Tests mostly wait for pods to stop: more files at once than there are cores.
  maxWorkers: 4,
  testTimeout: 180_000,
};
