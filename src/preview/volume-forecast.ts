import type { EffectiveSpec } from '../api/defaults.ts';
import { compareText } from '../runtime/compare.ts';
import { driversOf } from '../volumes/moves.ts';
import type { Leaver } from './outlook.ts';
import type { VolumeForecast } from './preview.ts';

/** How the volumes of the pods that leave are paced. */
export function forecastVolumes(leavers: readonly Leaver[], { drain }: EffectiveSpec): VolumeForecast[] {
  const counts = new Map<string, { pods: number; volumes: Set<string> }>();
  for (const { volumes } of leavers) {
    if (volumes.kind === 'unknown') continue;
    for (const driver of driversOf(volumes.volumes)) {
      const known = counts.get(driver) ?? { pods: 0, volumes: new Set() };
      const own = volumes.volumes.filter((volume) => volume.driver === driver);
      // Pods may share one.
      const all = [...known.volumes, ...own.map(({ persistentVolume }) => persistentVolume)];
      counts.set(driver, { pods: known.pods + 1, volumes: new Set(all) });
    }
  }
  return [...counts]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([driver, { pods, volumes }]) => ({ driver, pods, volumes: volumes.size, ...drain.volumes }));
}
