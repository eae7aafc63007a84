/** `haulout validate` and the API server judge alike: the same objects, in the same words. */
import { expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { withDefaults } from '../../src/api/defaults.ts';
import { identify } from '../../src/api/identity.ts';
import { nodeMaintenancesPath } from '../../src/api/names.ts';
import { formatPath } from '../../src/api/problem.ts';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import { createValidator } from '../../src/api/validation.ts';
import { badObjects } from '../fixtures/bad-objects.ts';
import { goodObjects } from '../fixtures/good-objects.ts';
import { sharedTestBed } from './support/beds.ts';

const bed = sharedTestBed(import.meta.filename);
const check = createValidator();

/** A creation that is only tried, as strict as kubectl asks for it. */
const createDry = `${nodeMaintenancesPath}?dryRun=All&fieldValidation=Strict`;

interface Cause {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

interface Refusal {
  readonly message: string;
  readonly details?: { readonly causes?: readonly Cause[] };
}

/** What the server says about single fields, as `field: sentence`. */
function sentencesOf({ message, details }: Refusal): string[] {
  const unknown = message.match(/unknown field "[^"]*"/g);
  if (unknown !== null) return unknown;
  const causes = (details?.causes ?? []).filter(({ field }) => field !== '<nil>'); // "some rules were not checked"
  const mistyped = new Set(
    causes.filter(({ reason }) => reason === 'FieldValueTypeInvalid').map(({ field }) => field),
  );
  return (
    causes
      // A value of the wrong type is not in the enum either: haulout validate says one of the two.
      .filter(({ field, reason }) => reason !== 'FieldValueNotSupported' || !mistyped.has(field))
      // And it does without the regular expression, which says the same once more.
      .map((cause) => `${cause.field}: ${cause.message.replace(/ \(e\.g\. 'example\.com', regex.*\)$/, '')}`)
  );
}

const ours = badObjects.filter(({ object }) => identify(object).kind === 'ours');

test('the table has plenty of objects to compare', () => {
  expect(ours.length).toBeGreaterThanOrEqual(40);
});

test.concurrent.each(ours)('word for word, of an object with $name', async ({ object }) => {
  const { status, body } = await bed.api.request('POST', createDry, object);
  expect([400, 422]).toContain(status);
  const said = check(as<Record<string, unknown>>(object)).map(({ path, message }) =>
    message.startsWith('unknown field ') ? message : `${formatPath(path)}: ${message}`,
  );
  expect(said.toSorted()).toEqual(sentencesOf(as<Refusal>(body)).toSorted());
});

test.concurrent.each(goodObjects)(
  'both take an object with $name, and fill in the same',
  async ({ object }) => {
    const { status, body } = await bed.api.request('POST', createDry, object);
    expect(status).toBe(201);
    expect(check(as<Record<string, unknown>>(object))).toEqual([]);
    expect(as<NodeMaintenance>(body).spec).toEqual(withDefaults(as<NodeMaintenance>(object).spec));
  },
);
