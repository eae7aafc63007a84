/** The long forms in their order, by the names that the command line knows. */
import { faults } from './faults.ts';
import type { SoakForm } from './form.ts';
import { fuzz } from './fuzz.ts';
import { kills } from './kills.ts';

export const FORMS: readonly SoakForm[] = [faults, kills, fuzz];

/** Those with these names, all where none is given; throws where there is none of a name. */
export function formsNamed(
  names: readonly string[],
  forms: readonly SoakForm[] = FORMS,
): readonly SoakForm[] {
  const unknown = names.find((name) => !forms.some((form) => form.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no form ${unknown}, but ${forms.map(({ name }) => name).join(', ')}`);
  return names.length === 0 ? forms : forms.filter(({ name }) => names.includes(name));
}
