/** What a driver does with its volumes. The same as in tools/volsim/settings.go, which reads it before each operation. */

export interface Trouble {
  /** Each that is not said stands for all. */
  readonly operation?: 'attach' | 'detach';
  /** The volume's handle. */
  readonly volume?: string;
  readonly node?: string;
  /** A hanging one ends soon after it is healed; one that fails has taken its time and says so. */
  readonly does: 'hang' | 'fail';
}

export interface DriverSettings {
  readonly attachSeconds: number;
  readonly detachSeconds: number;
  /** 0.2: times are up to 20 % longer or shorter. */
  readonly jitter: number;
  /** Operations at a time; 0 is no limit. */
  readonly perNode: number;
  readonly inAll: number;
  /** 0 to 1 */
  readonly failureRate: number;
  /** 0 is no limit. */
  readonly maxVolumesPerNode: number;
  readonly troubles: readonly Trouble[];
}

export const DEFAULT_SETTINGS: DriverSettings = {
  attachSeconds: 0.5,
  detachSeconds: 0.5,
  jitter: 0,
  perNode: 0,
  inAll: 0,
  failureRate: 0,
  maxVolumesPerNode: 0,
  troubles: [],
};
