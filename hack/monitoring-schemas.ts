// JSON schemas of the Prometheus operator's kinds that the chart has, for kubeconform, from the CRDs in its Go module.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { repositoryRoot } from './cluster/lib/paths.ts';
import { as } from './cluster/lib/untyped.ts';

const kinds = ['ServiceMonitor', 'PodMonitor', 'PrometheusRule'] as const;

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: object };
    }[];
  };
}

/** Writes KIND-monitoring-v1.json for each of the kinds. Unknown fields are refused. @throws if the module cannot be had */
export function writeMonitoringSchemas(directory: string): void {
  const crds = join(operatorModule(), 'example/prometheus-operator-crd');
  for (const kind of kinds) {
    const name = kind.toLowerCase();
    const crd = as<Crd>(parse(readFileSync(join(crds, `monitoring.coreos.com_${name}s.yaml`), 'utf8')));
    const schema = crd.spec.versions.find((version) => version.name === 'v1')?.schema.openAPIV3Schema;
    if (!schema) throw new Error(`the Prometheus operator has no ${kind} v1 any more`);
    writeFileSync(join(directory, `${name}-monitoring-v1.json`), JSON.stringify(closed(schema)));
  }
}

/** As the API server reads such a schema: fields that it does not name are wrong, except in metadata, which it knows. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  const isOpen = 'additionalProperties' in copy || 'x-kubernetes-preserve-unknown-fields' in copy;
  return copy['type'] === 'object' && 'properties' in copy && !isOpen
    ? { ...copy, additionalProperties: false }
    : copy;
}

function operatorModule(): string {
  const module = 'github.com/prometheus-operator/prometheus-operator';
  const output = execFileSync('go', ['mod', 'download', '-json', module], {
    cwd: join(repositoryRoot, 'hack/cluster/tools/monitoring-crds'),
    env: { ...process.env, GOFLAGS: '-mod=readonly', GOWORK: 'off' },
    encoding: 'utf8',
  });
  return as<{ Dir: string }>(JSON.parse(output)).Dir;
}
