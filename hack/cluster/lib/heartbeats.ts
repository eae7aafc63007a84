/** What a kubelet says again and again, so that its node does not count as lost. */
import type { Limit } from './limit.ts';

export interface HeartbeatSettings {
  /** From one renewal of a node's Lease to the next; 2 by default, 10 with real kubelets. */
  readonly leaseSeconds: number;
  /** From one report of a status that says nothing new to the next: 300 with real kubelets; never unless given. */
  readonly statusSeconds?: number;
}

export const DEFAULT_HEARTBEATS: HeartbeatSettings = { leaseSeconds: 2 };

export interface HeartbeatsOptions {
  readonly settings: HeartbeatSettings;
  readonly limit: Limit;
  /** Returns the status of the answer; 0 where there was none. */
  readonly send: (method: 'POST' | 'PATCH', path: string, body: unknown) => Promise<number>;
  /** The nodes whose kubelets are alive. */
  readonly nodeNames: () => readonly string[];
  /** Undefined where the node is gone. */
  readonly uidOf: (nodeName: string) => string | undefined;
}

const TICK_SECONDS = 2;
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/** For all nodes, evenly spread over the time between two heartbeats of one of them. */
export class Heartbeats {
  readonly #options: HeartbeatsOptions;
  readonly #underway = new Set<string>();
  readonly #next = { lease: 0, status: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HeartbeatsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_SECONDS * 1000);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  renew(nodeName: string): void {
    this.#once(`lease ${nodeName}`, async () => this.#renewLease(nodeName));
  }

  #tick(): void {
    const { leaseSeconds, statusSeconds } = this.#options.settings;
    for (const name of this.#due('lease', leaseSeconds)) this.renew(name);
    if (statusSeconds === undefined) return;
    for (const name of this.#due('status', statusSeconds))
      this.#once(`status ${name}`, async () => this.#reportStatus(name));
  }

  #due(what: 'lease' | 'status', periodSeconds: number): string[] {
    const names = this.#options.nodeNames();
    const count = Math.min(names.length, Math.ceil((names.length * TICK_SECONDS) / periodSeconds));
    const from = this.#next[what] < names.length ? this.#next[what] : 0;
    this.#next[what] = from + count;
    return [...names, ...names].slice(from, from + count);
  }

  /** A heartbeat that is still on its way is not sent again. */
  #once(what: string, work: () => Promise<void>): void {
    if (this.#underway.has(what)) return;
    this.#underway.add(what);
    this.#options.limit.add(async () => {
      await work();
      this.#underway.delete(what);
    });
  }

  async #renewLease(name: string): Promise<void> {
    const { send, uidOf, settings } = this.#options;
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const status = await send('PATCH', `${LEASES}/${name}`, { spec: { renewTime } });
    const uid = uidOf(name);
    if (status !== 404 || uid === undefined) return;
    await send('POST', LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
      spec: { holderIdentity: name, leaseDurationSeconds: settings.leaseSeconds * 4, renewTime },
    });
  }

  async #reportStatus(name: string): Promise<void> {
    const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() };
    await this.#options.send('PATCH', `/api/v1/nodes/${name}/status`, { status: { conditions: [ready] } });
  }
}
