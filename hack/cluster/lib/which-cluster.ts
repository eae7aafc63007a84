/** Which cluster a command is about: the variable CLUSTER. */

/** `own`: a control plane of our own processes. */
export type ClusterKind = 'own' | 'kind' | 'current';

export class UnknownCluster extends Error {
  constructor(value: string) {
    super(
      `CLUSTER=${value} is not known: write kind or current, or leave it out for a control plane without containers`,
    );
  }
}

export function clusterKind(value: string = process.env['CLUSTER'] ?? ''): ClusterKind {
  if (value === '') return 'own';
  if (value === 'kind' || value === 'current') return value;
  throw new UnknownCluster(value);
}

/** Of a script that ends with this error: 2 for what was typed wrong. */
export function exitCodeOf(error: unknown): number {
  return error instanceof UnknownCluster ? 2 : 1;
}
