// The chart's copy of the CRD. A template and not charts/haulout/crds/, because Helm never upgrades what is in crds/.

const header = `{{- /* Generated from crds/ by \`make generate\`. Do not edit. */ -}}
{{- if .Values.crds.install }}
`;

const keep = `  {{- if .Values.crds.keep }}
  annotations:
    # Without it uninstalling the release would delete every maintenance, with nobody left to put the nodes back.
    helm.sh/resource-policy: keep
  {{- end }}
  labels:
    {{- include "haulout.labels" . | nindent 4 }}
`;

/** @throws if the CRD's text is not laid out as expected (one `metadata:` that holds the name alone) */
export function generateChartCrd(crdText: string): string {
  if (crdText.includes('{{')) throw new Error('the CRD contains "{{", which Helm would take for a template');
  const body = crdText.replace(/^(#.*\n)+/, '');
  const parts = body.split(/(?<=^metadata:\n {2}name: .+\n)/m);
  const [head, rest, ...more] = parts;
  if (head === undefined || rest === undefined || more.length > 0 || rest.startsWith(' ')) {
    throw new Error('the metadata of the CRD must hold its name and nothing else');
  }
  return `${header}${head}${keep}${rest}{{- end }}\n`;
}
