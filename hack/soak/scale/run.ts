/** A form of the scale tests: on a cluster of its own, by its full size or a part of it. */
import { startOwnBed } from '../../../test/e2e/support/own-bed.ts';
import type { TestBed } from '../../../test/e2e/support/test-bed.ts';
import { Fleet, FLEET_GRACE_SECONDS, FLEET_HEARTBEATS } from '../../../test/soak/scale/fleet.ts';
import type { Play } from '../../../test/soak/scale/play.ts';
import { readVersion } from '../../../src/cli/version.ts';
import type { Goal } from '../../bench/goals.ts';
import { describeGoal } from '../../bench/goals.ts';
import { thisMachine } from '../../bench/report.ts';
import { unlessAborted } from '../../cluster/lib/unless-aborted.ts';
import { as, errorMessage } from '../../cluster/lib/untyped.ts';
import type { SoakContext, SoakForm } from '../form.ts';
import { fillPage } from './page.ts';
import { type Figures, type Measured, writeRecord } from './record.ts';

const SETTLE_SECONDS = 10;
const IDLE_SECONDS = { most: 60, least: 5 };
/** Lists of ten thousands of objects take a while. */
const AT_REST_MS = 300_000;

export interface Scene<N extends keyof Figures> {
  readonly name: N;
  readonly title: string;
  /** `sized` gives the part of a number that --count asks for, in percent. */
  readonly play: (play: Play, sized: (full: number) => number) => Promise<Figures[N]>;
  /** It comes to an end by itself when it is interrupted, with figures of what was done until then. */
  readonly endsEarly?: boolean;
  readonly judge: (figures: Figures[N]) => readonly Goal[];
}

export function scaleForm<N extends keyof Figures>(scene: Scene<N>): SoakForm {
  const { name, title, play, judge, endsEarly = false } = scene;
  return {
    name: `scale-${name}`,
    title,
    run: async (context) => {
      const percent = context.count ?? 100;
      const sized = (full: number): number => Math.max(1, Math.round((full * percent) / 100));
      const { measured, violations } = await onFleet(name, context, async (given) =>
        endsEarly ? play(given, sized) : unlessAborted(play(given, sized), given.signal),
      );
      const goals = judge(measured.figures);
      const said = goals.map((one) => `${one.what} ${one.value} ${one.unit} (goal: ${describeGoal(one)})`);
      const part = percent === 100 ? '' : ` at ${percent} % of the size`;
      return {
        summary: `${title}${part}${said.length === 0 ? '' : `: ${said.join(', ')}`}.`,
        goals,
        violations,
        figures: measured,
      };
    },
    fill: ({ figures }) => fillPage(writeRecord(name, as<Measured<Figures[N]>>(figures))),
  };
}

async function onFleet<F>(
  name: string,
  context: SoakContext,
  play: (play: Play) => Promise<F>,
): Promise<{ readonly measured: Measured<F>; readonly violations: readonly string[] }> {
  const { signal, log, count: percent = 100 } = context;
  const idleSeconds = Math.max(IDLE_SECONDS.least, (IDLE_SECONDS.most * percent) / 100);
  const machine = thisMachine();
  const bed = await startOwnBed(`soak-${name}`, 'scale', {
    heartbeats: FLEET_HEARTBEATS,
    nodeMonitorGraceSeconds: FLEET_GRACE_SECONDS,
    signal,
    log,
  });
  let fleet: Fleet | undefined;
  try {
    fleet = await Fleet.open(bed);
    const version = await fleet.client.must('GET', '/version');
    const figures = await play({ fleet, signal, log, idleSeconds, settleSeconds: SETTLE_SECONDS });
    const kubernetes = as<{ gitVersion: string }>(version).gitVersion;
    return {
      measured: { machine, kubernetes, haulout: readVersion(), figures },
      violations: signal.aborted ? [] : await brokenOn(bed),
    };
  } finally {
    await fleet?.close().catch(() => undefined);
    await bed.cluster.stop();
  }
}

/** What was measured is worth something all the same. */
async function brokenOn(bed: TestBed): Promise<readonly string[]> {
  try {
    // First, as the whole log of such a run would not fit into memory.
    bed.forgetAuditLog();
    await bed.checkInvariants({ timeoutMs: AT_REST_MS });
    bed.endAuditLog();
    return [];
  } catch (error) {
    return [errorMessage(error)];
  }
}
