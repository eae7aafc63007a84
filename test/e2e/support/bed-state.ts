/** What a test file has made and what has come of it, for messages of failures. */
import { nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import type { Api } from './api.ts';
import type { AuditLog } from './audit.ts';
import { namespaceState } from './namespace-state.ts';
import { summary } from './status.ts';

export interface Bed {
  readonly api: Api;
  readonly prefix: string;
  readonly namespaces: readonly string[];
  readonly audit: AuditLog | undefined;
  /** The operator's last lines. */
  readonly log: string;
}

export async function bedState({ api, prefix, namespaces, audit, log }: Bed): Promise<string> {
  const all = await api.list<NodeMaintenance>(nodeMaintenancesPath);
  const own = all.filter(({ metadata }) => metadata.name.startsWith(prefix)).map(summary);
  const states = namespaces.map(async (name) => namespaceState(api, name, audit?.evictions(name) ?? []));
  return [...own, ...(await Promise.all(states)), 'operator:', log].join('\n');
}
