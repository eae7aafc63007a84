// The operator's image on real kubelets: make e2e-kubelet. Needs root on Debian; elsewhere its tests count as skipped.
import e2e from '../e2e/jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...e2e,
  roots: ['<rootDir>/test/e2e-kubelet'],
  globalSetup: '<rootDir>/test/e2e-kubelet/support/global-setup.ts',
  globalTeardown: undefined,
  // Names of control groups and networks are the machine's.
  maxWorkers: 1,
};
