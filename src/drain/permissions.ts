import type { EffectiveSpec } from '../api/defaults.ts';

/**
 * What whoever installed the operator lets it do beyond evicting. The chart says it twice, by flags and by the rules of
 * its ClusterRole, so that a maintenance that asks for more is told at once and not when a pod has been refused.
 */
export interface Permissions {
  readonly podDeletion: boolean;
  readonly deploymentRestart: boolean;
}

export const everythingPermitted: Permissions = { podDeletion: true, deploymentRestart: true };

/** How to permit it, for people. */
export const permitPodDeletion = 'set allowPodDeletion: true in the values of the chart';
export const permitDeploymentRestart = 'set allowDeploymentRestart: true in the values of the chart';

/** Why a maintenance that asks for this cannot be carried out, as a sentence; `undefined`: it can. */
export function notPermitted(
  { drain }: Pick<EffectiveSpec, 'drain'>,
  { podDeletion, deploymentRestart }: Permissions,
): string | undefined {
  const deletes = [
    ...(drain.onTimeout === 'Delete' ? ['onTimeout: Delete'] : []),
    ...(drain.deleteBlockedAfterSeconds === undefined ? [] : ['deleteBlockedAfterSeconds']),
    ...(drain.unsatisfiableBudgets === 'Delete' ? ['unsatisfiableBudgets: Delete'] : []),
  ];
  const refused = [
    ...(podDeletion || deletes.length === 0
      ? []
      : [
          `the operator may not delete pods, as spec.drain asks for (${deletes.join(', ')}): ${permitPodDeletion}`,
        ]),
    ...(deploymentRestart || drain.blockedDeployments !== 'Restart'
      ? []
      : [
          `the operator may not restart Deployments, as spec.drain asks for (blockedDeployments: Restart): ${permitDeploymentRestart}`,
        ]),
  ];
  return refused.length === 0 ? undefined : `${refused.join('; ')}; or take it out of the spec`;
}
