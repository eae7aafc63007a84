// JSON schemas of the Prometheus operator's kinds that the chart has, for kubeconform, from the CRDs in its Go module.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { goModuleDirectory } from './cluster/lib/go-modules.ts';
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
  for (const [kind, file] of monitoringCrds()) {
    const crd = as<Crd>(parse(readFileSync(file, 'utf8')));
    const schema = crd.spec.versions.find((version) => version.name === 'v1')?.schema.openAPIV3Schema;
    if (!schema) throw new Error(`the Prometheus operator has no ${kind} v1 any more`);
    writeFileSync(
      join(directory, `${kind.toLowerCase()}-monitoring-v1.json`),
      JSON.stringify(closed(schema)),
    );
  }
}

/** Files with the CRDs, by kind. @throws if the module cannot be had */
export function monitoringCrds(): ReadonlyMap<string, string> {
  const module = goModuleDirectory('monitoring-crds', 'github.com/prometheus-operator/prometheus-operator');
  const directory = join(module, 'example/prometheus-operator-crd');
  return new Map(
    kinds.map((kind) => [kind, join(directory, `monitoring.coreos.com_${kind.toLowerCase()}s.yaml`)]),
  );
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
