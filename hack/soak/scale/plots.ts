/** The three plots of docs/performance.md: how cost grows with nodes, with pods and with maintenances. */
import type { Cost } from '../../../test/soak/scale/cost.ts';
import type { Pair } from '../../../test/soak/scale/trend.ts';
import { type Panel, plot } from './plot.ts';
import type { Records } from './record.ts';

/** By the name of the file; undefined as long as it was not measured. */
export function plots(records: Records): Readonly<Record<string, string | undefined>> {
  const { nodes, pods, maintenances, finished } = records;
  return {
    nodes:
      nodes &&
      plot('Nodes, and nothing to do', [
        memory('nodes', nodes.figures.points, (one) => one.nodes),
        processor('nodes', nodes.figures.points, (one) => one.nodes),
        panel('until in sync, s', 'nodes', [
          {
            name: '',
            points: nodes.figures.points.map((one) => [one.nodes, one.inSyncSeconds]),
            trend: true,
          },
        ]),
      ]),
    pods:
      pods &&
      plot('Pods of nodes that are being emptied', [
        memory('pods', pods.figures.points, (one) => one.pods),
        processor('pods', pods.figures.points, (one) => one.pods),
        panel('longest hold-up of the event loop, ms', 'pods', [
          { name: '', points: pods.figures.points.map((one) => [one.pods, one.idle.loopMaxMs]) },
        ]),
      ]),
    maintenances:
      maintenances &&
      finished &&
      plot('Maintenances', [
        memory('maintenances in effect', maintenances.figures.points, (one) => one.maintenances),
        panel('watches', 'maintenances in effect', [
          {
            name: '',
            points: maintenances.figures.points.map((one) => [one.maintenances, one.idle.watches]),
            trend: true,
          },
        ]),
        memory('finished maintenances', finished.figures.points, (one) => one.finished),
        processor('finished maintenances', finished.figures.points, (one) => one.finished),
      ]),
  };
}

function memory<T extends { readonly idle: Cost }>(
  xLabel: string,
  points: readonly T[],
  x: (point: T) => number,
): Panel {
  return panel('resident memory, MB', xLabel, [
    { name: 'after', points: points.map((one): Pair => [x(one), one.idle.rssAfterMb]), trend: true },
  ]);
}

function processor<T extends { readonly idle: Cost }>(
  xLabel: string,
  points: readonly T[],
  x: (point: T) => number,
): Panel {
  return panel('processor, % of a core', xLabel, [
    { name: '', points: points.map((one): Pair => [x(one), one.idle.cpuPercent]), trend: true },
  ]);
}

function panel(title: string, xLabel: string, series: Panel['series']): Panel {
  return { title, xLabel, series };
}
