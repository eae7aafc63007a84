/** Plays scenarios with an operator that is killed at a chosen write, and compares what comes of them with a calm run. */
import { errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { DISK_DRIVER } from '../../../hack/cluster/lib/volumes/options.ts';
import { nodeMaintenancePath } from '../../../src/api/names.ts';
import type { Island } from '../../e2e/support/island.ts';
import type { NodeSnapshot } from '../../e2e/support/node-snapshot.ts';
import { OperatorProcess } from '../../e2e/support/operator-process.ts';
import type { OwnBedOptions } from '../../e2e/support/own-bed.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';
import { type Trip, Tripwire } from '../../e2e/support/tripwire.ts';
import type { Kill } from './order.ts';
import { maintenancesOf, outcomeOf } from './outcome.ts';
import type { Scenario } from './scenarios.ts';

export const KILL_BED: OwnBedOptions = {
  volumes: {
    drivers: { [DISK_DRIVER]: { attachSeconds: 0.1, detachSeconds: 0.1 } },
    attacher: { timeoutSeconds: 2, retryMaxSeconds: 2 },
    nodeStatusSeconds: 0.2,
  },
};

export interface Calm {
  readonly scenario: Scenario;
  /** As text, so that a difference can be read. */
  readonly outcome: string;
  /** About its own island, as those are at which it is killed. */
  readonly writes: readonly string[];
}

/** Without a write for so long nothing more comes of itself. */
const QUIET_MS = 1500;
const SETTLED_MS = 90_000;

export class KillStage {
  readonly #bed: TestBed;
  readonly #tripwire: Tripwire;
  #operator: OperatorProcess;
  #plays = 0;

  static async open(bed: TestBed): Promise<KillStage> {
    const { operatorKubeconfig, dir } = bed.files;
    return new KillStage(bed, await Tripwire.start(operatorKubeconfig, dir));
  }

  private constructor(bed: TestBed, tripwire: Tripwire) {
    this.#bed = bed;
    this.#tripwire = tripwire;
    this.#operator = this.#start();
  }

  async close(): Promise<void> {
    await this.#operator.kill();
    await this.#tripwire.stop();
  }

  /** The run to compare with. */
  async calm(scenario: Scenario): Promise<Calm> {
    const writes: string[] = [];
    const outcome = await this.#on(scenario, async (island) => {
      this.#tripwire.takeWrites();
      await scenario.play(this.#bed, island);
      let last = performance.now();
      await this.#bed.eventually('nothing more is written', () => {
        const fresh = this.#tripwire.takeWrites().filter((write) => write.includes(island.name));
        if (fresh.length > 0) last = performance.now();
        writes.push(...fresh);
        return performance.now() - last > QUIET_MS;
      });
      return outcomeOf(this.#bed, island);
    });
    return { scenario, outcome, writes };
  }

  /**
   * With a kill, and others after it, each so many writes after the start that followed the one before. Resolves to where
   * it was killed: fewer times where there were fewer writes this time. Throws where the end is another.
   */
  async killed({ scenario, outcome }: Calm, ...kills: readonly Kill[]): Promise<readonly Trip[]> {
    return this.#on(scenario, async (island) => {
      const trips: Trip[] = [];
      let killing = Promise.resolve();
      const arm = ([next, ...others]: readonly Kill[]): void => {
        if (!next) return;
        void this.#tripwire.trip(next.nth, next.moment, island.name).then((trip) => {
          trips.push(trip);
          killing = this.#killAndStart().then(() => arm(others));
        });
      };
      arm(kills);
      try {
        await scenario.play(this.#bed, island);
        await this.#comesTo(outcome, island);
        let last = performance.now();
        await this.#bed.eventually('it is killed, or nothing more is written', () => {
          if (this.#tripwire.takeWrites().length > 0) last = performance.now();
          return trips.length === kills.length || performance.now() - last > QUIET_MS;
        });
        this.#tripwire.disarm();
        await killing;
        // The last process has looked at everything, and leaves it as it is.
        await this.#bed.eventually('the operator leads', () =>
          this.#operator.log().some(({ message }) => message === 'leading'),
        );
        await this.#comesTo(outcome, island);
        await this.#bed.checkInvariants({ timeoutMs: SETTLED_MS });
      } catch (error) {
        const told = trips.map(({ moment, write }) => `killed ${moment} ${write}`).join(', then ');
        const where = `${told || 'not yet killed'} (of ${JSON.stringify(kills)})`;
        throw new Error(`${scenario.name}, ${where}: ${errorMessage(error)}`, { cause: error });
      } finally {
        this.#tripwire.disarm();
        await killing;
      }
      return trips;
    });
  }

  /** A play on an island of its own, which is put back as it was. */
  async #on<T>(scenario: Scenario, play: (island: Island) => Promise<T>): Promise<T> {
    const island = await this.#bed.island(`${scenario.name}-${++this.#plays}`);
    const before = await this.#bed.snapshot(island.node);
    try {
      await scenario.prepare(this.#bed, island);
      return await play(island);
    } finally {
      await this.#restore(island, before);
    }
  }

  async #comesTo(outcome: string, island: Island): Promise<void> {
    let found = '';
    const explain = (): string => `expected\n${outcome}\nfound\n${found}`;
    await this.#bed.eventually(
      'it ends as it does undisturbed',
      async () => {
        found = await outcomeOf(this.#bed, island);
        return found === outcome;
      },
      { timeoutMs: SETTLED_MS, explain },
    );
  }

  async #restore({ node }: Island, before: NodeSnapshot): Promise<void> {
    const { api } = this.#bed;
    for (const { metadata } of await maintenancesOf(this.#bed, node))
      await api.remove(nodeMaintenancePath(metadata.name));
    await this.#bed.eventually(
      `${node} is put back, or gone`,
      async () => {
        if ((await maintenancesOf(this.#bed, node)).length > 0) return false;
        if ((await api.find(`/api/v1/nodes/${node}`)) === undefined) return true;
        return JSON.stringify(await this.#bed.snapshot(node)) === JSON.stringify(before);
      },
      { timeoutMs: SETTLED_MS },
    );
    await this.#bed.checkInvariants();
    // What this play has broken is not to be told of the next one.
    this.#bed.endAuditLog();
  }

  async #killAndStart(): Promise<void> {
    await this.#operator.kill();
    this.#operator = this.#start();
  }

  #start(): OperatorProcess {
    // The same identity: the Lease is its own at once, whatever happened to the process before.
    return new OperatorProcess({
      dir: this.#bed.files.dir,
      name: 'operator-killed',
      identity: 'the-one-that-is-killed',
      kubeconfig: this.#tripwire.kubeconfig,
      flags: ['--max-unavailable-nodes=100%', '--eviction-qps=100', '--eviction-burst=100'],
    });
  }
}
