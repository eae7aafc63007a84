// The part of OpenAPI v3 that the CRD uses, and how to read it.
import { parse } from 'yaml';

export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  readonly fieldPath?: string;
  readonly reason?: string;
}

export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

export interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly shortNames?: readonly string[];
    };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
      readonly additionalPrinterColumns?: readonly {
        readonly name: string;
        readonly description?: string;
        readonly priority?: number;
      }[];
    }[];
  };
}

/**
 * Reads the CRD's YAML.
 * @throws if it does not hold exactly one version, which is all that the generators are made for
 */
export function parseCrd(text: string): { crd: Crd; version: string; schema: Schema } {
  // The API server judges the CRD as such; this reads a few fields of it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const crd = parse(text) as Crd;
  const [only, ...others] = crd.spec.versions;
  if (only === undefined || others.length > 0) {
    throw new Error(`the CRD must have exactly one version, it has ${crd.spec.versions.length}`);
  }
  return { crd, version: only.name, schema: only.schema.openAPIV3Schema };
}
