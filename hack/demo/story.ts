/** The demo itself, step by step. Everything that it says happens is checked; what is not as promised is an error. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../cluster/lib/paths.ts';
import { commandLine, type Kubectl, shown } from './kubectl.ts';
import { Live } from './live.ts';
import { differences, nodeLooks } from './node-looks.ts';
import { OperatorProcess, writeOperatorKubeconfig } from './operator.ts';
import { NAMESPACE, type Place } from './place.ts';
import type { Screen } from './screen.ts';
import { conditionOf, isOfDaemonSet, type List, type Pod } from './types.ts';

/** What examples/shop.yaml says of itself. */
const PODS_ON_NODE = 30;
const DAEMON_PODS = 1;
const HELD_UP = { budget: 'payments', bare: 'debug-shell' } as const;
const MANIFEST = 'examples/node-maintenance.yaml';

type NodeObject = Parameters<typeof nodeLooks>[0] & {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly unschedulable?: boolean };
};

export interface Scene {
  readonly place: Place;
  readonly kubectl: Kubectl;
  readonly screen: Screen;
  readonly signal: AbortSignal;
}

export class Story {
  readonly #scene: Scene;
  #operator: OperatorProcess | undefined;
  #live: Live | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  get operatorLog(): string | undefined {
    return this.#operator && shown(this.#operator.logFile);
  }

  async install(): Promise<void> {
    const { place, kubectl, screen, signal } = this.#scene;
    screen.step('haulout is installed');
    screen.say(
      'The chart brings the CRD and the permissions; the operator itself runs here as a process with them:',
    );
    const release = ['upgrade', '--install', 'haulout', 'charts/haulout', '--namespace', 'haulout'];
    const args = [...release, '--create-namespace', '--set', 'replicaCount=0'];
    screen.command(commandLine('helm', args));
    await kubectl.helm(args);
    const token = ['create', 'token', 'haulout', '--namespace', 'haulout', '--duration', '1h'];
    const kubeconfig = join(place.dir, 'operator.kubeconfig');
    screen.command(`${commandLine('kubectl', token)}    # goes into ${shown(kubeconfig)}`);
    await writeOperatorKubeconfig(kubectl, kubeconfig, (await kubectl.run(token)).trim());
    screen.command(`bin/haulout run --kubeconfig ${shown(kubeconfig)}`);
    this.#operator = await OperatorProcess.start(place.dir, kubeconfig);
    await this.#operator.ready(signal);
    screen.say(`It is ready; its log is ${shown(this.#operator.logFile)}.`);
  }

  async fillNode(): Promise<void> {
    const { place, screen, kubectl, signal } = this.#scene;
    const [node, ...others] = place.nodes;
    screen.step(`A shop runs on ${node}`);
    screen.say(`For a moment no other node takes pods, so that all of it starts on ${node}:`);
    await this.#type(['cordon', ...others]);
    this.#live = new Live(kubectl, node, node, signal);
    await this.#type(['apply', '-f', place.shop]);
    await this.#live.until(`${PODS_ON_NODE} pods of the shop run on ${node}`, 60, () => {
      const running = this.#podsHere().filter((pod) => pod.status?.phase === 'Running');
      return running.length === PODS_ON_NODE;
    });
    await this.#type(['uncordon', ...others]);
    screen.say(`${PODS_ON_NODE} pods run on ${node}, and the other nodes take pods again.`);
  }

  async drain(): Promise<void> {
    const { place, screen, kubectl } = this.#scene;
    const [node] = place.nodes;
    const before = nodeLooks(await this.#node());
    screen.step(`${node} goes into maintenance`);
    screen.say('haulout cordons and marks it, then asks every pod to leave through the eviction API:');
    const began = performance.now();
    if (node === 'worker-1') await this.#type(['apply', '-f', MANIFEST]);
    else {
      screen.command(`sed s/worker-1/${node}/g ${MANIFEST} | kubectl apply -f -`);
      const manifest = readFileSync(join(repositoryRoot, MANIFEST), 'utf8');
      await kubectl.run(['apply', '-f', '-'], manifest.replaceAll('worker-1', node));
    }
    await this.#watch(began, 'all but two pods leave', 40, () => this.#isHeldUpByTwo());
    await this.#showBlockers();
    await this.#relaxBudget(began);
    await this.#deleteBarePod(began);
    await this.#readyForReboot();
    await this.#putBack(before);
  }

  /** What runs here. What is on the cluster goes with the place. */
  async tidyUp(): Promise<void> {
    await this.#live?.close();
    await this.#operator?.stop();
  }

  async #showBlockers(): Promise<void> {
    const { screen, kubectl } = this.#scene;
    screen.step('Two pods cannot leave; the status says why and what releases them');
    await this.#type(['get', 'nmaint']);
    const args = ['describe', 'nmaint', this.#nodeName];
    screen.command(`${commandLine('kubectl', args)}    # the part about blockers`);
    screen.output(blockersPart(await kubectl.run(args)));
  }

  async #relaxBudget(began: number): Promise<void> {
    const { screen } = this.#scene;
    screen.step('A budget is relaxed');
    screen.say(
      'payments runs one replica, of which its budget wants one: no drain can ever evict it. Whoever owns it decides ' +
        'that one minute without it is fine:',
    );
    const patch = ['--type', 'merge', '-p', '{"spec":{"minAvailable":0}}'];
    await this.#type(['patch', 'pdb', HELD_UP.budget, '-n', NAMESPACE, ...patch]);
    const relaxed = performance.now();
    let evicted: number | undefined;
    const [pod] = this.#podsHere().filter(({ metadata }) => metadata.name.startsWith(HELD_UP.budget));
    const watching = this.#theLive().onChange(() => {
      const now = this.#theLive().pods.get(pod?.metadata.uid ?? '');
      if (now?.metadata.deletionTimestamp !== undefined) evicted ??= performance.now();
    });
    await this.#watch(began, 'the pod of payments leaves', 20, () => this.#progress() === '28/29');
    watching();
    if (evicted === undefined) throw new Error('the pod of payments left without being evicted');
    const seconds = Math.max(0, evicted - relaxed) / 1000;
    if (seconds > 1)
      throw new Error(`the pod was evicted ${seconds.toFixed(1)} s after its budget allowed it`);
    screen.say(
      `It was evicted ${seconds.toFixed(2)} s after its budget allowed it: haulout watches budgets.`,
    );
  }

  async #deleteBarePod(began: number): Promise<void> {
    const { screen } = this.#scene;
    screen.step('A bare pod is deleted');
    screen.say(
      'Nothing would create debug-shell again, so haulout leaves it to a person (spec.drain.unmanagedPods: Evict would ' +
        'let it go by itself, Skip would let it stay):',
    );
    await this.#type(['delete', 'pod', HELD_UP.bare, '-n', NAMESPACE, '--wait=false']);
    await this.#watch(began, 'the bare pod leaves', 20, () => this.#isDrained());
  }

  async #readyForReboot(): Promise<void> {
    const { screen } = this.#scene;
    screen.step(`${this.#nodeName} is empty and can be rebooted`);
    await this.#type(['wait', '--for=condition=Drained', `nmaint/${this.#nodeName}`, '--timeout=10s']);
    const selector = `spec.nodeName=${this.#nodeName}`;
    await this.#type(['get', 'pods', '-A', '--field-selector', selector]);
    await this.#type(['get', 'node', this.#nodeName]);
    const left = (await this.#listPods(['-A', '--field-selector', selector])).filter(
      (pod) => !isOfDaemonSet(pod),
    );
    if (left.length > 0) {
      const names = left.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
      throw new Error(`drained, but these pods are on ${this.#nodeName} still: ${names.join(', ')}`);
    }
    if (!(await this.#node()).spec?.unschedulable)
      throw new Error(`${this.#nodeName} is drained, but not cordoned`);
    await this.#type([
      'wait',
      '--for=condition=Available',
      'deployment',
      '--all',
      '-n',
      NAMESPACE,
      '--timeout=20s',
    ]);
    const elsewhere = (await this.#listPods(['-n', NAMESPACE])).filter(
      (pod) => pod.spec.nodeName !== this.#nodeName && pod.status?.phase === 'Running' && !isOfDaemonSet(pod),
    );
    const expected = PODS_ON_NODE - DAEMON_PODS - 1; // nobody makes the bare pod again
    if (elsewhere.length !== expected)
      throw new Error(`${elsewhere.length} pods of the shop run on other nodes, and ${expected} should`);
    screen.say(`All that left runs elsewhere: ${expected} pods. Only the bare pod is gone for good.`);
  }

  async #putBack(before: ReturnType<typeof nodeLooks>): Promise<void> {
    const { screen } = this.#scene;
    screen.step(`${this.#nodeName} goes back into service`);
    const left = differences(before, nodeLooks(await this.#node())).length;
    if (left < 5) throw new Error(`${this.#nodeName} was not marked while it was in maintenance`);
    await this.#type(['delete', 'nmaint', this.#nodeName]);
    const after = nodeLooks(await this.#node());
    const different = differences(before, after);
    if (different.length > 0) throw new Error(`${this.#nodeName} is not as it was: ${different.join('; ')}`);
    await this.#type(['get', 'node', this.#nodeName]);
    screen.say(
      `${this.#nodeName} is exactly as it was: of the ${left} changes on it (cordon, taints, labels, annotations, conditions) ` +
        'none is left, and nothing else was touched.',
    );
  }

  /** Runs it and shows both the command and its output. */
  async #type(args: readonly string[]): Promise<void> {
    const { screen, kubectl } = this.#scene;
    screen.command(commandLine('kubectl', args));
    screen.output(await kubectl.run(args));
  }

  async #watch(began: number, what: string, seconds: number, test: () => boolean): Promise<void> {
    const live = this.#theLive();
    const over = new AbortController();
    const ended = this.#operator?.watchOver(over.signal) ?? Promise.reject(new Error('no operator runs'));
    try {
      const done = Promise.race([live.until(what, seconds, test), ended]);
      await this.#scene.screen.follow(live, began, done);
    } finally {
      over.abort();
    }
  }

  #isHeldUpByTwo(): boolean {
    const blockers = this.#theLive().maintenance?.status?.blockers ?? [];
    const found = blockers.map(({ pod, cause }) => `${pod.name.split('-')[0]}: ${cause}`).toSorted();
    return (
      this.#progress() === '27/29' &&
      found.join(', ') === 'debug: UnmanagedPod, payments: PodDisruptionBudget' &&
      conditionOf(this.#theLive().maintenance, 'DrainBlocked')?.status === 'True'
    );
  }

  #isDrained(): boolean {
    const { maintenance } = this.#theLive();
    return this.#progress() === '29/29' && conditionOf(maintenance, 'Drained')?.status === 'True';
  }

  #progress(): string | undefined {
    return this.#theLive().maintenance?.status?.drain?.progress;
  }

  #podsHere(): Pod[] {
    return [...this.#theLive().pods.values()].filter(({ metadata }) => metadata.namespace === NAMESPACE);
  }

  /** Of the node, and of its maintenance. */
  get #nodeName(): string {
    return this.#scene.place.nodes[0];
  }

  #theLive(): Live {
    if (!this.#live) throw new Error('nothing is watched yet');
    return this.#live;
  }

  async #node(): Promise<NodeObject> {
    return this.#scene.kubectl.json<NodeObject>(['get', 'node', this.#nodeName]);
  }

  async #listPods(args: readonly string[]): Promise<readonly Pod[]> {
    return (await this.#scene.kubectl.json<List<Pod>>(['get', 'pods', ...args])).items;
  }
}

/** `kubectl describe` of the whole status is long: only its list of blockers. */
function blockersPart(described: string): string {
  const lines = described.split('\n');
  const from = lines.findIndex((line) => /^ {2}Blockers:/.test(line));
  if (from < 0) throw new Error('kubectl describe shows no blockers');
  const next = lines.findIndex(
    (line, index) => index > from && /^ {2}\S/.test(line) && !line.startsWith('  Blockers Total'),
  );
  return lines.slice(from, next < 0 ? undefined : next).join('\n');
}
