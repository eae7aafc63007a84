/**
 * Rounds of fuzzed NodeMaintenances through a real API server while the operator runs: create many, edit some, look at
 * what is said of each, let pods come back, delete all, and look at the nodes, the pods and the process. Short and long
 * form share it.
 */
import { nodeMaintenancePath, nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { AuditLog } from '../../e2e/support/audit.ts';
import { type NodeSnapshot, snapshotOf } from '../../e2e/support/node-snapshot.ts';
import type { OperatorProcess } from '../../e2e/support/operator-process.ts';
import { SeededRandom } from '../../e2e/support/random.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';
import { forAll } from '../bulk.ts';
import { answerProblem, auditProblems, conditionProblems, logProblems, metricsProblems } from './checks.ts';
import { type FuzzedObject, ObjectMaker } from './objects.ts';
import { type Life, neglected, type SaidMaintenance, type StoredSpec } from './oracle.ts';
import { labelKeys, labelValues, Population } from './population.ts';

export interface Round {
  readonly seed: number;
  readonly accepted: number;
  readonly refused: number;
  readonly evictions: number;
  readonly deletions: number;
  readonly violations: readonly string[];
}

const WAIT = { timeoutMs: 240_000 } as const;

export class Campaign {
  readonly #bed: TestBed;
  readonly #operator: OperatorProcess;
  readonly #population: Population;
  readonly #pid: number;
  readonly #port: number;
  readonly #before: ReadonlyMap<string, NodeSnapshot>;
  /** Of this round's maintenances, by name. */
  readonly #lives = new Map<string, Life>();
  #violations: string[] = [];

  private constructor(
    bed: TestBed,
    operator: OperatorProcess,
    population: Population,
    before: ReadonlyMap<string, NodeSnapshot>,
  ) {
    this.#bed = bed;
    this.#operator = operator;
    this.#population = population;
    this.#pid = operator.pid;
    this.#port = operator.port() ?? 0;
    this.#before = before;
  }

  static async begin(bed: TestBed, operator: OperatorProcess, nodes: number): Promise<Campaign> {
    const population = await Population.settle(bed, nodes);
    return new Campaign(bed, operator, population, await snapshots(bed));
  }

  /** The same seed makes the same objects in the same order. */
  async round(seed: number, count: number): Promise<Round> {
    const random = new SeededRandom(seed);
    const { lone, shared } = this.#population;
    const maker = new ObjectMaker(random, { nodes: shared, labelKeys, labelValues });
    const audit = new AuditLog(this.#bed.cluster.auditLog);
    this.#lives.clear();
    this.#violations = [];
    await this.#population.fill();
    const objects = Array.from({ length: count }, (_, index) =>
      maker.make(`fuzz-${seed}-${index}`, lone[index]),
    );
    const names = (await forAll(objects, async (object) => this.#create(object))).filter(
      (name) => name !== undefined,
    );
    await this.#allClear(names.length);
    // What comes while all are known has to be judged by all of them.
    await this.#population.refill();
    const edits = names.filter((name) => random.between(1, 10) === 1 || lone.includes(this.#nodeOf(name)));
    const changes = edits.map((name) => ({ name, object: maker.make(name, this.#nodeOf(name)) }));
    await forAll(changes, async ({ name, object }) => this.#edit(name, object));
    await this.#allClear(names.length);
    await this.#population.refill();
    await forAll(names, async (name) => this.#delete(name));
    await this.#bed.eventually('all are gone', async () => (await this.#maintenances()).length === 0, WAIT);
    await this.#bed.eventually(
      'all nodes are as before',
      async () => (await this.#changedNodes()).length === 0,
      {
        ...WAIT,
        explain: async () => (await this.#changedNodes()).join('\n'),
      },
    );
    this.#violations.push(
      ...auditProblems(audit.entries(), this.#population.seen, [...this.#lives.values()]),
      ...logProblems(this.#operator.logFile),
      ...(await this.#processProblems()),
    );
    await this.#bed.checkInvariants(WAIT);
    const { namespaces } = this.#population;
    return {
      seed,
      accepted: names.length,
      refused: objects.length - names.length,
      evictions: namespaces.flatMap((namespace) => audit.accepted(namespace)).length,
      deletions: namespaces.flatMap((namespace) => audit.podDeletions(namespace)).length,
      violations: this.#violations,
    };
  }

  /** Of the round so far, also of one that has not come to its end. */
  get violations(): readonly string[] {
    return this.#violations;
  }

  #nodeOf(name: string): string {
    return this.#lives.get(name)?.versions[0]?.spec.nodeName ?? '';
  }

  async #create(object: FuzzedObject): Promise<string | undefined> {
    const { name } = object.metadata;
    const askedAt = Date.now();
    const { status, body } = await this.#bed.api.request('POST', nodeMaintenancesPath, object);
    this.#note(answerProblem(name, status, body), object);
    if (status !== 201) return undefined;
    const { spec } = as<{ spec: StoredSpec }>(body);
    this.#lives.set(name, { versions: [{ spec, askedAt, seenAt: Infinity }], deletionAskedAt: Infinity });
    return name;
  }

  async #edit(name: string, object: FuzzedObject): Promise<void> {
    const type = 'application/merge-patch+json';
    const path = nodeMaintenancePath(name);
    const askedAt = Date.now();
    const { status, body } = await this.#bed.api.request('PATCH', path, { spec: object.spec }, type);
    this.#note(answerProblem(name, status, body), object);
    if (status !== 200) return;
    const { spec } = as<{ spec: StoredSpec }>(body);
    this.#lives.get(name)?.versions.push({ spec, askedAt, seenAt: Infinity });
  }

  async #delete(name: string): Promise<void> {
    const life = this.#lives.get(name);
    if (life) life.deletionAskedAt = Date.now();
    await this.#bed.api.remove(nodeMaintenancePath(name));
  }

  #note(problem: string | undefined, object: FuzzedObject): void {
    if (problem !== undefined) this.#violations.push(`${problem}: ${JSON.stringify(object)}`);
  }

  /** Waits until something is said of each object at its present generation, and judges what. */
  async #allClear(count: number): Promise<void> {
    const all = await this.#bed.eventually(
      `the operator has seen all ${count}`,
      async () => {
        const now = await this.#maintenances();
        return now.length === count && unclear(now).length === 0 && now;
      },
      {
        ...WAIT,
        explain: async () =>
          unclear(await this.#maintenances())
            .slice(0, 5)
            .join(', '),
      },
    );
    const now = Date.now();
    for (const version of [...this.#lives.values()].flatMap(({ versions }) => versions))
      version.seenAt = Math.min(version.seenAt, now);
    for (const object of all)
      for (const problem of conditionProblems(object))
        this.#violations.push(`${nameOf(object)}: ${problem}: ${JSON.stringify(object.spec)}`);
    await this.#bed.checkInvariants(WAIT);
    await this.#bed.eventually(
      'nobody is left who has to leave',
      async () => (await this.#neglected()).length === 0,
      { ...WAIT, explain: async () => (await this.#neglected()).join('\n') },
    );
  }

  /** On nodes that one maintenance names. */
  async #neglected(): Promise<string[]> {
    const { namespaces, seen } = this.#population;
    const all = await this.#bed.api.list<SaidMaintenance>(nodeMaintenancesPath);
    const pods = (await Promise.all(namespaces.map(async (name) => this.#bed.api.pods(name)))).flat();
    const there = pods.filter(stays).flatMap(({ metadata: { uid } }) => seen.get(uid) ?? []);
    const alone = [...Map.groupBy(all, ({ spec }) => spec.nodeName).values()].filter(
      (ofNode) => ofNode.length === 1,
    );
    return alone
      .flat()
      .flatMap((one) =>
        neglected(there, one).map((pod) => `${JSON.stringify(pod)} is neglected by ${JSON.stringify(one)}`),
      );
  }

  async #maintenances(): Promise<readonly NodeMaintenance[]> {
    return this.#bed.api.list<NodeMaintenance>(nodeMaintenancesPath);
  }

  async #changedNodes(): Promise<string[]> {
    const now = await snapshots(this.#bed);
    return [...this.#before].flatMap(([name, before]) => {
      const [was, is] = [JSON.stringify(before), JSON.stringify(now.get(name))];
      return was === is ? [] : [`${name} was ${was} and is ${is}`];
    });
  }

  async #processProblems(): Promise<string[]> {
    if (!this.#operator.isRunning || this.#operator.pid !== this.#pid) return ['the operator has ended'];
    // By the port that was known at the beginning: the log that tells it has been emptied.
    const answer = await fetch(`http://127.0.0.1:${this.#port}/metrics`, {
      signal: AbortSignal.timeout(30_000),
    });
    return metricsProblems(await answer.text());
  }
}

const stays = ({ metadata }: Pod): boolean => metadata.deletionTimestamp === undefined;

const nameOf = ({ metadata }: NodeMaintenance): string => metadata.name;

const unclear = (all: readonly NodeMaintenance[]): string[] =>
  all.filter(({ metadata, status }) => status?.observedGeneration !== metadata.generation).map(nameOf);

async function snapshots(bed: TestBed): Promise<ReadonlyMap<string, NodeSnapshot>> {
  const nodes = await bed.api.list<Node>('/api/v1/nodes');
  return new Map(nodes.map((node) => [node.metadata.name, snapshotOf(node)]));
}
