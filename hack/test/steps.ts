/** The steps of `make test` in their order. Names are what ONLY=... takes. */
export interface Step {
  readonly name: string;
  /** What is checked, for the reader of the log. */
  readonly title: string;
  /** Arguments of Node.js, from the root of the repository. */
  readonly args: readonly string[];
  readonly limitSeconds: number;
  /** jest: its tests are counted one by one, from the report that it writes. Otherwise the step counts as one. */
  readonly isJest?: boolean;
  /** Begins when the cluster runs. */
  readonly needsCluster?: boolean;
  /** The output is shown as it comes. */
  readonly isLive?: boolean;
}

const sources = ['src', 'test', 'hack'];
const jest = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
  '--ci',
];

export const steps: readonly Step[] = [
  {
    name: 'format',
    title: 'sources are formatted',
    args: ['node_modules/@biomejs/biome/bin/biome', 'format', ...sources],
    limitSeconds: 120,
  },
  {
    name: 'lint',
    title: 'lint with types',
    args: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings', ...sources],
    limitSeconds: 300,
  },
  { name: 'types', title: 'types', args: ['node_modules/typescript/bin/tsc', '--noEmit'], limitSeconds: 300 },
  {
    name: 'generated',
    title: 'generated files are up to date',
    args: ['hack/generate.ts', '--check'],
    limitSeconds: 120,
  },
  { name: 'unit', title: 'unit tests', args: [...jest, 'test/unit'], limitSeconds: 900, isJest: true },
  // Longer than they take: they may have to wait until the control plane is built.
  { name: 'workflows', title: 'workflows', args: ['hack/check-workflows.ts'], limitSeconds: 1_800 },
  { name: 'alerts', title: 'alerts', args: ['hack/check-alerts.ts'], limitSeconds: 1_800 },
  { name: 'chart', title: 'chart', args: ['hack/check-chart.ts'], limitSeconds: 900, needsCluster: true },
  {
    name: 'e2e',
    title: 'end-to-end tests on a real control plane',
    args: [...jest, '--config', 'test/e2e/jest.config.mjs'],
    limitSeconds: 3_600,
    isJest: true,
    needsCluster: true,
    isLive: true,
  },
  {
    name: 'kubelet',
    title: 'the image on real kubelets',
    args: [...jest, '--config', 'test/e2e-kubelet/jest.config.mjs'],
    limitSeconds: 1_800,
    isJest: true,
    // It starts one of its own, but last: its figures are those of an operator that has the machine to itself.
    needsCluster: true,
    isLive: true,
  },
];

/** The steps that `only` names (comma-separated; all when empty). Throws when it names one that does not exist. */
export function chosenSteps(only: string): readonly Step[] {
  const names = only.split(',').filter((name) => name !== '');
  const unknown = names.filter((name) => !steps.some((step) => step.name === name));
  if (unknown.length > 0) {
    throw new Error(
      `ONLY=${unknown.join(',')} is not a step: write one or more of ${steps.map(({ name }) => name).join(',')}`,
    );
  }
  return names.length === 0 ? steps : steps.filter((step) => names.includes(step.name));
}
