/** The part of Argo CD's ConfigMap that holds our health.lua, for clusters whose Argo CD does not bring it along. */

const key = 'resource.customizations.health.haulout.dev_NodeMaintenance';

/** @param script health.lua */
export function generateArgoConfig(script: string): string {
  const indented = script.replaceAll(/^(?=.)/gm, '    ');
  return `# Generated from health.lua by \`make generate\`. Do not edit. Add it to your ConfigMap:
# kubectl patch configmap argocd-cm --namespace argocd --type merge --patch-file gitops/argo-cd/argocd-cm.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  namespace: argocd
  labels:
    app.kubernetes.io/name: argocd-cm
    app.kubernetes.io/part-of: argocd
data:
  ${key}: |
${indented}`;
}
