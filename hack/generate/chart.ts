// The charts' copies of the CRD. Templates and not files in crds/, because Helm never upgrades what is in crds/.

const header = '{{- /* Generated from crds/ by `make generate`. Do not edit. */ -}}\n';

const keep = (chart: string) => `  {{- if .Values.crds.keep }}
  annotations:
    # Without it uninstalling the release would delete every maintenance, with nobody left to put the nodes back.
    helm.sh/resource-policy: keep
  {{- end }}
  labels:
    {{- include "${chart}.labels" . | nindent 4 }}
`;

/** @throws if the CRD's text is not laid out as expected (one `metadata:` that holds the name alone) */
export function generateChartCrd(crdText: string, chart: 'haulout' | 'haulout-crds'): string {
  if (crdText.includes('{{')) throw new Error('the CRD contains "{{", which Helm would take for a template');
  const body = crdText.replace(/^(#.*\n)+/, '');
  const parts = body.split(/(?<=^metadata:\n {2}name: .+\n)/m);
  const [head, rest, ...more] = parts;
  if (head === undefined || rest === undefined || more.length > 0 || rest.startsWith(' ')) {
    throw new Error('the metadata of the CRD must hold its name and nothing else');
  }
  const text = `${head}${keep(chart)}${rest}`;
  // The other chart has nothing else to install.
  return chart === 'haulout' ? `${header}{{- if .Values.crds.install }}\n${text}{{- end }}\n` : header + text;
}
