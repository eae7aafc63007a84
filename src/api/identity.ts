// Whether an object of a manifest is a NodeMaintenance, or was meant to be one.
import { apiVersion, group, kind } from './names.ts';
import type { Problem } from './problem.ts';
import { isObject } from './schema.ts';

/** Groups of other projects that have a kind of the same name. */
const namesakes: Readonly<Record<string, string>> = {
  'nodemaintenance.medik8s.io': 'the medik8s node maintenance operator',
  'nodemaintenance.kubevirt.io': 'the KubeVirt node maintenance operator',
};

export type Identity =
  | { readonly kind: 'ours'; readonly object: Readonly<Record<string, unknown>> }
  /** Of another kind, none of our business. */
  | { readonly kind: 'foreign' }
  /** Probably meant to be a NodeMaintenance; `problem` says what is wrong with apiVersion or kind. */
  | { readonly kind: 'mistaken'; readonly problem: Problem };

/** Whose object it is. */
export function identify(object: unknown): Identity {
  if (!isObject(object)) {
    const hint = `an object begins with apiVersion: ${apiVersion}`;
    return mistaken({ path: [], message: 'not a Kubernetes object', hint });
  }
  const { apiVersion: itsVersion, kind: itsKind } = object;
  if (typeof itsKind !== 'string' || itsKind === '') {
    return mistaken({ path: ['kind'], message: 'Required value', hint: `write kind: ${kind}` });
  }
  if (typeof itsVersion !== 'string' || itsVersion === '') {
    return mistaken({
      path: ['apiVersion'],
      message: 'Required value',
      hint: `write apiVersion: ${apiVersion}`,
    });
  }
  const [itsGroup = ''] = itsVersion.split('/');
  if (itsGroup !== group && itsKind.toLowerCase() !== kind.toLowerCase()) return { kind: 'foreign' };
  const message = `no matches for kind ${JSON.stringify(itsKind)} in version ${JSON.stringify(itsVersion)}`;
  if (itsVersion !== apiVersion) {
    const owner = Object.hasOwn(namesakes, itsGroup) ? namesakes[itsGroup] : undefined;
    const whose = owner === undefined ? '' : `this is a kind of ${owner}, whose fields differ; for haulout `;
    return mistaken({ path: ['apiVersion'], message, hint: `${whose}write apiVersion: ${apiVersion}` });
  }
  if (itsKind !== kind) return mistaken({ path: ['kind'], message, hint: `write kind: ${kind}` });
  return { kind: 'ours', object };
}

function mistaken(problem: Problem): Identity {
  return { kind: 'mistaken', problem };
}
