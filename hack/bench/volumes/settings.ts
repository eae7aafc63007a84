/** Who drains what: 16 pods with a volume each, on providers that are quicker or slower at many things at a time. */
import type { VolumesOptions } from '../../cluster/lib/volumes/options.ts';

export const PODS = 16;
/** Of one pod each, to see what a move takes by itself. */
export const SINGLES = 8;
/** For each node that is drained: where there is a limit per node, there are as many lanes for attaching. */
export const SPARES = 2;
export const STOPS_IN_S = 2;
export const ATTACH_S = 3;
export const DETACH_S = 3;
/** As real kubelets report which volumes are in use: it is most of what a move takes. */
const NODE_STATUS_S = 10;

export interface Provider {
  readonly name: string;
  /** Operations at a time, for each node. */
  readonly perNode: number;
  readonly says: string;
}

export const ONE: Provider = { name: 'one', perNode: 1, says: 'one operation per node at a time' };
export const FOUR: Provider = { name: 'four', perNode: 4, says: 'four operations per node at a time' };

/** One drain, with a driver, a csi-attacher and nodes of its own: what it does disturbs no other. */
export interface Setting {
  readonly name: string;
  readonly provider: Provider;
  /** undefined: by kubectl. */
  readonly maxConcurrent: number | undefined;
}

const PACES = [undefined, 1, 2, 4];

export const SETTINGS: readonly Setting[] = [ONE, FOUR].flatMap((provider) =>
  PACES.map((maxConcurrent) => ({
    name: `${provider.name}-${maxConcurrent ?? 'kubectl'}`,
    provider,
    maxConcurrent,
  })),
);

export const SINGLE = 'single';

export const driverOf = (name: string): string => `${name}.bench.haulout.dev`;

const names = [...SETTINGS.map(({ name }) => name), SINGLE];

/** Quick in the beginning, until all pods have their volumes; the attacher is as it comes. */
export const VOLUMES: VolumesOptions = {
  drivers: Object.fromEntries(
    names.map((name) => [driverOf(name), { attachSeconds: 0.1, detachSeconds: 0.1 }]),
  ),
  nodeStatusSeconds: NODE_STATUS_S,
};
