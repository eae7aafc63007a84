/** All versions that a NodeMaintenance went through, as the API server has sent them: also those between two looks. */
import { KubeClient } from '../../../hack/cluster/lib/kube-client.ts';
import { as, errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import { TEST_USER_AGENT } from './api.ts';
import { eventually } from './eventually.ts';

export class History {
  readonly versions: NodeMaintenance[] = [];
  /** Why it ended before it was stopped; what is known then may be less than all. */
  problem: string | undefined;
  readonly #client: KubeClient;
  readonly #stopped = new AbortController();

  private constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Begins before the object exists. */
  static async of(kubeconfig: string, name: string): Promise<History> {
    const client = new KubeClient(kubeconfig, TEST_USER_AGENT);
    const path = `${nodeMaintenancesPath}?fieldSelector=metadata.name%3D${name}`;
    const list = as<{ metadata: { resourceVersion: string } }>(await client.must('GET', path));
    const history = new History(client);
    void history.#follow(path, list.metadata.resourceVersion);
    return history;
  }

  /** All versions up to one that is known from elsewhere: the watch may be behind. */
  async upTo(last: NodeMaintenance): Promise<readonly NodeMaintenance[]> {
    const { resourceVersion } = last.metadata;
    await eventually('the watch has brought the last version', () => {
      return (
        this.problem !== undefined ||
        this.versions.some(({ metadata }) => metadata.resourceVersion === resourceVersion)
      );
    });
    this.#stopped.abort();
    await this.#client.close();
    if (this.problem !== undefined) throw new Error(`the watch of the history ended: ${this.problem}`);
    return this.versions;
  }

  async #follow(path: string, resourceVersion: string): Promise<void> {
    try {
      for await (const event of this.#client.watch(path, resourceVersion, this.#stopped.signal)) {
        if (event.type === 'ERROR') throw new Error(JSON.stringify(event.object));
        if (event.type !== 'BOOKMARK') this.versions.push(as<NodeMaintenance>(event.object));
      }
    } catch (error) {
      if (!this.#stopped.signal.aborted) this.problem = errorMessage(error);
    }
  }
}
