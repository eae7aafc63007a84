/** What kwok has to wait for where volumes are attached. */
import { parseAllDocuments } from 'yaml';

/** Of a node: its volumes are attached by the controller, and not by the kubelet itself. */
export const MANAGED_ATTACH_ANNOTATION = 'volumes.kubernetes.io/controller-managed-attach-detach';
/** The condition by which a kubelet says that volumes and network of a pod are there and its containers may start. */
export const MOUNTED_CONDITION = 'PodReadyToStartContainers';

/**
 * kwok's stages with two more conditions, both met by kubelets.ts: a node is ready only when its kubelet is
 * known to attach volumes by the controller, and a pod with claims only when these are mounted.
 */
export function waitingForVolumes(kwokConfig: string): string {
  const hasClaims = 'any(.spec.volumes[]?; .persistentVolumeClaim or .ephemeral)';
  const isMounted = `any(.status.conditions[]?; .type == "${MOUNTED_CONDITION}" and .status == "True")`;
  const more: Readonly<Record<string, object>> = {
    'node-ready': { key: `.metadata.annotations["${MANAGED_ATTACH_ANNOTATION}"]`, operator: 'Exists' },
    'pod-ready': {
      key: `select(${hasClaims} and (${isMounted} | not)) | "waiting"`,
      operator: 'DoesNotExist',
    },
  };
  const documents = parseAllDocuments(kwokConfig);
  for (const document of documents) {
    const condition = more[String(document.getIn(['metadata', 'name']))];
    if (condition) document.addIn(['spec', 'selector', 'matchExpressions'], document.createNode(condition));
  }
  return documents.map(String).join('');
}
