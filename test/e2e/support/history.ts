/** All versions that an object went through, as the API server has sent them: also those between two looks. */
import { KubeClient, type KubeObject } from '../../../hack/cluster/lib/kube-client.ts';
import { as, errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { TEST_USER_AGENT } from './api.ts';
import { eventually } from './eventually.ts';

export interface Version<T> {
  readonly object: T;
  /** When it arrived here, in milliseconds since the epoch. */
  readonly seenAt: number;
}

export class History<T extends KubeObject> {
  readonly versions: Version<T>[] = [];
  /** Why it ended before it was stopped; what is known then may be less than all. */
  #problem: string | undefined;
  readonly #client: KubeClient;
  readonly #stopped = new AbortController();

  private constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Begins now, be there such an object or not. `collection` is a path such as /api/v1/nodes. */
  static async of<T extends KubeObject>(
    kubeconfig: string,
    collection: string,
    name: string,
  ): Promise<History<T>> {
    const client = new KubeClient(kubeconfig, TEST_USER_AGENT);
    const path = `${collection}?fieldSelector=metadata.name%3D${name}`;
    const list = as<{ metadata: { resourceVersion: string } }>(await client.must('GET', path));
    const history = new History<T>(client);
    void history.#follow(path, list.metadata.resourceVersion);
    return history;
  }

  /** Ends with a version that is known from elsewhere: the watch may be behind. */
  async upTo(last: T): Promise<readonly T[]> {
    const { resourceVersion } = last.metadata;
    await this.first('the last version', ({ metadata }) => metadata.resourceVersion === resourceVersion);
    await this.stop();
    return this.versions.map(({ object }) => object);
  }

  /** Waits until the watch has brought a version like that. */
  async first(description: string, check: (object: T) => boolean): Promise<Version<T>> {
    return eventually(
      `the watch brings ${description}`,
      () => {
        return this.versions.find(({ object }) => check(object));
      },
      { explain: () => this.#problem ?? '' },
    );
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#client.close();
    if (this.#problem !== undefined) throw new Error(`the watch of the history ended: ${this.#problem}`);
  }

  async #follow(path: string, resourceVersion: string): Promise<void> {
    try {
      for await (const event of this.#client.watch(path, resourceVersion, this.#stopped.signal)) {
        if (event.type === 'ERROR') throw new Error(JSON.stringify(event.object));
        if (event.type !== 'BOOKMARK')
          this.versions.push({ object: as<T>(event.object), seenAt: Date.now() });
      }
    } catch (error) {
      if (!this.#stopped.signal.aborted) this.#problem = errorMessage(error);
    }
  }
}
