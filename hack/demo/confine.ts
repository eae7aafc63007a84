/** Manifests for a cluster that others use too: the pods stay on the demo's own fake nodes. */
import { parseAllDocuments, stringify } from 'yaml';
import { FAKE_NODE_TOLERATION, MADE_FOR } from '../cluster/lib/made-for.ts';
import { as } from '../cluster/lib/untyped.ts';

interface PodSpec {
  nodeSelector?: Record<string, string>;
  tolerations?: object[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { labels?: Record<string, string> };
  readonly spec?: PodSpec & { readonly template?: { readonly spec: PodSpec } };
}

export function confine(manifests: string): string {
  return parseAllDocuments(manifests)
    .map((document) => stringify(confined(as<Manifest>(document.toJS()))))
    .join('---\n');
}

function confined(manifest: Manifest): Manifest {
  const pod = manifest.kind === 'Pod' ? manifest.spec : manifest.spec?.template?.spec;
  if (pod) {
    pod.nodeSelector = { ...pod.nodeSelector, [MADE_FOR]: 'demo' };
    pod.tolerations = [...(pod.tolerations ?? []), FAKE_NODE_TOLERATION];
  }
  if (manifest.kind === 'Namespace')
    manifest.metadata.labels = { ...manifest.metadata.labels, [MADE_FOR]: 'demo' };
  return manifest;
}
