import type { Client } from '../kube/client.ts';
import { Reflector } from '../kube/reflector.ts';
import { Store } from '../kube/store.ts';
import { trimAttachment } from '../kube/trim.ts';
import type { CsiDriver, Pod, VolumeAttachment } from '../kube/types.ts';
import type { Move, VolumeFacts } from '../volumes/moves.ts';
import { type ReflectorContext, type RunningReflector, lastSeen } from './caches.ts';
import { SuccessionWatches } from './succession-watches.ts';
import { VolumeRegister } from './volume-register.ts';
import { WatchPool } from './watch-pool.ts';

/** All that is known of volumes while some node is being emptied. */
export class VolumeWatches {
  readonly facts: VolumeFacts;
  /** To be started and stopped with the others that all draining nodes share. */
  readonly reflectors: readonly RunningReflector[];
  readonly #attachments: Store<VolumeAttachment>;
  readonly #drivers: Store<CsiDriver>;
  readonly #register: VolumeRegister;
  readonly #pool: WatchPool;
  readonly #successions: SuccessionWatches;
  readonly #moving = new Map<string, ReadonlySet<string>>();
  readonly #onNode: (nodeName: string) => void;

  constructor(client: Client, context: ReflectorContext, onNode: (nodeName: string) => void) {
    this.#onNode = onNode;
    this.#attachments = new Store<VolumeAttachment>({ trim: trimAttachment, ...context.store })
      .index('node', ({ spec }) => spec.nodeName)
      .index('volume', ({ spec }) => spec.source.persistentVolumeName);
    this.#attachments.onChange((old, now) => this.#attachmentChanged(old, now));
    this.#drivers = new Store<CsiDriver>(context.store);
    this.#pool = new WatchPool(client, context, onNode);
    this.#successions = new SuccessionWatches(this.#pool);
    this.#register = new VolumeRegister({
      client,
      clock: context.reflector('persistentvolumes').clock,
      // As Kubernetes takes it where there is no CSIDriver.
      attachRequired: (driver) => this.#drivers.get(driver)?.spec.attachRequired ?? true,
      onChange: onNode,
    });
    this.facts = {
      volumesOf: (pod) => this.#register.volumesOf(pod),
      attachments: {
        toNode: (nodeName) => this.#attachments.byIndex('node', nodeName),
        ofVolume: (name) => this.#attachments.byIndex('volume', name),
      },
      successionOf: (move) => this.#successions.successionOf(move),
    };
    this.reflectors = [
      new Reflector({
        ...context.reflector('volumeattachments'),
        client,
        store: this.#attachments,
        path: '/apis/storage.k8s.io/v1/volumeattachments',
        isChangeDue: () => this.#moving.size > 0,
      }),
      new Reflector({
        ...context.reflector('csidrivers'),
        client,
        store: this.#drivers,
        path: '/apis/storage.k8s.io/v1/csidrivers',
      }),
    ];
  }

  /** What is on the move from this node; an empty list ends the watches. */
  follow(nodeName: string, moves: readonly Move[]): void {
    this.#successions.follow(nodeName, moves);
    const volumes = moves.flatMap((move) => move.volumes.map(({ persistentVolume }) => persistentVolume));
    if (volumes.length > 0) this.#moving.set(nodeName, new Set(volumes));
    else this.#moving.delete(nodeName);
  }

  podGone(pod: Pod): void {
    this.#register.forget(pod.metadata.uid);
  }

  lastSeen(): [string, number][] {
    return this.reflectors.flatMap((reflector, index) => lastSeen(resources[index] ?? '', [reflector]));
  }

  /** The reflectors are stopped by whoever started them. */
  async stop(): Promise<void> {
    this.#register.stop();
    await this.#pool.stop();
  }

  /** Of interest to the node that it is about, and to the one that waits for the volume to be elsewhere. */
  #attachmentChanged(old: VolumeAttachment | undefined, now: VolumeAttachment | undefined): void {
    const spec = (now ?? old)?.spec;
    if (!spec) return;
    const volume = spec.source.persistentVolumeName;
    const waiting = [...this.#moving].filter(([, volumes]) => volume !== undefined && volumes.has(volume));
    for (const nodeName of new Set([spec.nodeName, ...waiting.map(([name]) => name)])) this.#onNode(nodeName);
  }
}

// In the order of the reflectors above.
const resources = ['volumeattachments', 'csidrivers'];
