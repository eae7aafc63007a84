/** The long forms in their order, by the names that the command line knows. */
import { faults } from './faults.ts';
import type { SoakForm } from './form.ts';
import { fuzz } from './fuzz.ts';
import { kills } from './kills.ts';
import { SCALE_FORMS } from './scale/forms.ts';

export const FORMS: readonly SoakForm[] = [faults, kills, fuzz, ...SCALE_FORMS];

/** Those with these names or groups, all where none is given; throws where there is none of a name. */
export function formsNamed(
  names: readonly string[],
  forms: readonly SoakForm[] = FORMS,
): readonly SoakForm[] {
  const unknown = names.find((name) => !forms.some((form) => isNamed(form, name)));
  if (unknown !== undefined)
    throw new Error(`there is no form ${unknown}, but ${forms.map(({ name }) => name).join(', ')}`);
  return names.length === 0 ? forms : forms.filter((form) => names.some((name) => isNamed(form, name)));
}

/** `scale` is the group of scale-nodes, scale-pods, ... */
function isNamed(form: SoakForm, name: string): boolean {
  return form.name === name || form.name.startsWith(`${name}-`);
}
