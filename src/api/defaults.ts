import { crdSchema } from './crd.generated.ts';
import { withSchemaDefaults } from './schema.ts';
import type { DrainSpec, NodeMaintenanceSpec, VolumePace } from './types.generated.ts';

type SpecProperties = typeof crdSchema.properties.spec.properties;
type DrainProperties = SpecProperties['drain']['properties'];

/** The fields that have a default in the CRD; taken from the schema, so that a new default is seen by the compiler. */
type Defaulted<Properties> = {
  [Key in keyof Properties]: Properties[Key] extends { readonly default: unknown } ? Key : never;
}[keyof Properties];

type WithDefaults<Spec, Keys> = Omit<Spec, Keys & keyof Spec> & Required<Pick<Spec, Keys & keyof Spec>>;

/** `spec.drain` with every field that has a default. */
export type EffectiveDrainSpec = Omit<WithDefaults<DrainSpec, Defaulted<DrainProperties>>, 'volumes'> & {
  volumes: Required<VolumePace>;
};

/** `spec` with every field that has a default. */
export type EffectiveSpec = Omit<WithDefaults<NodeMaintenanceSpec, Defaulted<SpecProperties>>, 'drain'> & {
  drain: EffectiveDrainSpec;
};

// All that wait for their turn are looked at whenever one of them has it.
const known = new WeakMap<NodeMaintenanceSpec, EffectiveSpec>();

/**
 * What a spec means. The API server fills in defaults by itself, also when it reads objects that were stored before a
 * default existed; this is for everything that did not come from there, and for a server with an older CRD.
 * @returns a deep copy, the same one each time; the argument must not be changed after that
 */
export function withDefaults(spec: NodeMaintenanceSpec): EffectiveSpec {
  const before = known.get(spec);
  if (before !== undefined) return before;
  // The schema, which the types are generated from, guarantees the shape.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const effective = withSchemaDefaults(crdSchema.properties.spec, spec) as EffectiveSpec;
  known.set(spec, effective);
  return effective;
}
