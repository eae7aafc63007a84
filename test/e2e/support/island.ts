/** A few nodes and a namespace for one test: its pods run on these nodes only, so that tests do not meet. */
import {
  type BudgetOptions,
  barePod,
  budget,
  daemonSet,
  deployment,
  job,
  type Manifest,
  type PodOptions,
  type StatefulSetOptions,
  statefulSet,
  type WorkloadOptions,
} from './builders.ts';
import {
  type ClaimTemplate,
  claim,
  claimTemplate,
  ephemeral,
  type PodVolume,
  persistentVolume,
  type VolumeOptions,
} from './volumes.ts';

export const ISLAND_LABEL = 'test.haulout.dev/island';

export class Island {
  readonly name: string;
  readonly namespace: string;
  /** The one that is to be maintained. */
  readonly node: string;
  /** Where its pods go. */
  readonly spares: readonly string[];
  /** What keeps pods on the island. */
  readonly nodeSelector: Readonly<Record<string, string>>;
  #volumes = 0;

  constructor(name: string, spares: number) {
    this.name = name;
    this.namespace = name;
    this.node = `${name}-a`;
    this.spares = Array.from({ length: spares }, (_, index) => `${name}-spare-${index + 1}`);
    this.nodeSelector = { [ISLAND_LABEL]: name };
  }

  get nodes(): readonly string[] {
    return [this.node, ...this.spares];
  }

  deployment(name: string, options: WorkloadOptions = {}): Manifest {
    return deployment(this.namespace, name, this.#here(options));
  }

  statefulSet(name: string, options: StatefulSetOptions = {}): Manifest {
    return statefulSet(this.namespace, name, this.#here(options));
  }

  daemonSet(name: string, options: PodOptions = {}): Manifest {
    return daemonSet(this.namespace, name, this.#here(options));
  }

  job(name: string, options: WorkloadOptions = {}): Manifest {
    return job(this.namespace, name, this.#here(options));
  }

  barePod(name: string, options: PodOptions = {}): Manifest {
    return barePod(this.namespace, name, this.#here(options));
  }

  budget(name: string, options: BudgetOptions): Manifest {
    return budget(this.namespace, name, options);
  }

  /** So many volumes, of which claims of this island may be bound to any; named `ISLAND-1`, `ISLAND-2`, ... */
  volumes(count: number, options: VolumeOptions = {}): Manifest[] {
    return Array.from({ length: count }, () =>
      persistentVolume(`${this.name}-${++this.#volumes}`, { ...options, labels: this.nodeSelector }),
    );
  }

  claim(name: string, options: VolumeOptions = {}): Manifest {
    return claim(this.namespace, name, { ...options, labels: this.nodeSelector });
  }

  claimTemplate(name: string, options: VolumeOptions = {}): ClaimTemplate {
    return claimTemplate(name, { ...options, labels: this.nodeSelector });
  }

  ephemeral(name: string, options: VolumeOptions = {}): PodVolume {
    return ephemeral(name, { ...options, labels: this.nodeSelector });
  }

  #here<T extends PodOptions>(options: T): T {
    return { ...options, nodeSelector: { ...this.nodeSelector, ...options.nodeSelector } };
  }
}
